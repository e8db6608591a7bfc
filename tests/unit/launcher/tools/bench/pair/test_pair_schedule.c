/* SPDX-License-Identifier: MIT */
/* test_pair_schedule.c: every pair meets once, and nobody is in two pairs of a turn. */
#include "launcher/tools/bench/pair/pair_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 33 };

static void test_turns(void **state)
{
    (void)state;
    assert_int_equal(pair_schedule_turns(1), 0);
    assert_int_equal(pair_schedule_turns(2), 1);
    assert_int_equal(pair_schedule_turns(3), 3);
    assert_int_equal(pair_schedule_turns(8), 7);
    assert_int_equal(pair_schedule_partner(1, 0, 0), -1);
}

static void test_all_pairs(void **state)
{
    (void)state;
    for (int n = 2; n <= MOST; n++) {
        int met[MOST][MOST];

        memset(met, 0, sizeof(met));
        for (int turn = 0; turn < pair_schedule_turns(n); turn++)
            for (int i = 0, pauses = 0; i < n; i++) {
                int other = pair_schedule_partner(n, turn, i);

                if (other < 0) {
                    assert_int_equal(n % 2, 1);
                    assert_int_equal(++pauses, 1);
                    continue;
                }
                assert_in_range(other, 0, n - 1);
                assert_int_not_equal(other, i);
                assert_int_equal(pair_schedule_partner(n, turn, other), i);
                met[i][other]++;
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                assert_int_equal(met[i][j], i != j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_all_pairs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
