/* SPDX-License-Identifier: MIT */
/* Another host's time as ours: by the shortest of several round trips, and with drift. */
#include "launcher/run/record/clock_offset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { AHEAD = 1000000 };

/* Eight trips that begin at `at`; the third is the shortest, of `shortest` ns; the other clock is
 * `ahead` in the middle of it, and seems to be elsewhere in the others. */
static void trips(struct clock_offset *c, int64_t at, int64_t shortest, int64_t ahead)
{
    for (int i = 0; i < CLOCK_OFFSET_TRIPS; i++) {
        int64_t round = i == 2 ? shortest : shortest + 500 * (i + 1);

        clock_offset_add(c, at, at + round, at + ahead + (i == 2 ? round / 2 : i % 2 ? round : 0));
    }
}

static void test_none(void **state)
{
    struct clock_offset c = {0};

    (void)state;
    assert_int_equal(clock_offset_ours(&c, 12345), 12345);
    assert_int_equal(clock_offset_error_ns(&c), 0);
}

static void test_shortest(void **state)
{
    struct clock_offset c = {0};

    (void)state;
    trips(&c, 5000, 100, AHEAD);
    assert_int_equal(clock_offset_ours(&c, AHEAD + 7000), 7000);
    assert_int_equal(clock_offset_error_ns(&c), 50);
}

/* Its clock runs by 1/1000 faster; what is between, before and behind the measurements follows. */
static void test_drift(void **state)
{
    struct clock_offset c = {0};

    (void)state;
    trips(&c, 0, 100, AHEAD);
    for (int i = 1; i <= 10; i++)
        trips(&c, 1000000ll * i, 100, AHEAD + 1000 * i);
    assert_in_range(clock_offset_ours(&c, AHEAD + 5000000 + 5000), 5000000 - 10, 5000000 + 10);
    assert_in_range(clock_offset_ours(&c, AHEAD + 20000000 + 20000), 20000000 - 50, 20000000 + 50);
}

/* A host may say anything. */
static void test_foreign(void **state)
{
    struct clock_offset c = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        clock_offset_add(&c, i, i + 10, i % 2 ? INT64_MIN : INT64_MAX);
    clock_offset_add(&c, 10, 5, 0);
    clock_offset_ours(&c, 0);
    clock_offset_ours(&c, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_foreign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
