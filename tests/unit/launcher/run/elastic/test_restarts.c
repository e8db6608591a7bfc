/* SPDX-License-Identifier: MIT */
/* test_restarts.c: how often a job is started again, and after which pauses. */
#include "launcher/run/elastic/restarts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int pause_after(struct restarts *r, int64_t ran_ms, bool host_failed)
{
    int pause_ms = -2;

    return restarts_take(r, ran_ms, host_failed, &pause_ms) ? pause_ms : -1;
}

static void test_ranks(void **state)
{
    struct restarts r = {.most = 2}, none = {0};

    (void)state;
    assert_int_equal(pause_after(&r, 5, false), 0);
    assert_int_equal(pause_after(&r, 5, false), 1000);
    assert_int_equal(pause_after(&r, 5, false), -1);
    assert_int_equal(r.count, 2);
    assert_int_equal(pause_after(&none, 5, true), -1);
}

static void test_fast(void **state)
{
    static const int pauses[] = {0, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct restarts r = {.most = 100};

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pause_after(&r, RESTARTS_FAST_MS - 1, false), pauses[i]);
    assert_int_equal(pause_after(&r, RESTARTS_FAST_MS, false), 0);
    assert_int_equal(pause_after(&r, 5, false), 1000);
    assert_int_equal(pause_after(&r, 5, true), 1000);
    assert_int_equal(pause_after(&r, 5, false), 0);
}

static void test_hosts(void **state)
{
    static const int pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    struct restarts r = {.most = 100};

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pause_after(&r, i ? 0 : 100, true), pauses[i]);
    /* It is back; then a rank fails, and later a host again. */
    assert_int_equal(pause_after(&r, 100, false), 0);
    assert_int_equal(pause_after(&r, 100, true), 1000);
    assert_int_equal(pause_after(&r, 0, true), 2000);
    assert_int_equal(pause_after(&r, RESTARTS_PAUSE_MOST_MS, true), 1000);
    assert_int_equal(r.used, 12);
}

static void test_healthy(void **state)
{
    struct restarts r = {.most = 1};

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(pause_after(&r, RESTARTS_HEALTHY_MS, false), 0);
    assert_int_equal(pause_after(&r, RESTARTS_HEALTHY_MS - 1, false), -1);
    assert_int_equal(r.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks), cmocka_unit_test(test_fast),
                                       cmocka_unit_test(test_hosts),
                                       cmocka_unit_test(test_healthy)};

    return cmocka_run_group_tests_name("restarts", tests, NULL, NULL);
}
