/* SPDX-License-Identifier: MIT */
/* test_time_spread.c: percentiles are right to the width of a step, from nothing to hours. */
#include "launcher/tools/bench/pair/time_spread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void is_near(double value, double expected)
{
    if (fabs(value - expected) > expected * 0.016)
        fail_msg("%f, not about %f", value, expected);
}

static void test_thousand(void **state)
{
    static struct time_spread s;
    struct time_summary t;

    (void)state;
    for (int i = 1; i <= 1000; i++)
        time_spread_add(&s, i);
    t = time_spread_summarize(&s);
    assert_true(t.count == 1000 && t.min == 1 && t.max == 1000 && t.mean == 500.5);
    is_near(t.stdev, 288.7);
    is_near(t.p25, 250);
    is_near(t.typical, 500);
    is_near(t.p75, 750);
    is_near(t.p99, 990);
    is_near(t.p999, 999);
}

static void test_extremes(void **state)
{
    static struct time_spread s, none;
    struct time_summary t;

    (void)state;
    assert_true(time_spread_summarize(&none).count == 0);
    time_spread_add(&s, 0);
    time_spread_add(&s, 0.0001);
    time_spread_add(&s, 0.25);
    time_spread_add(&s, 1e12); /* beyond the last step */
    t = time_spread_summarize(&s);
    assert_true(t.min == 0 && t.max == 1e12 && t.p999 <= 1e12);
    is_near(t.p75, 0.25);
}

static void test_steps(void **state)
{
    (void)state;
    for (double us = 0.002; us < 1e9; us *= 1.37) {
        struct time_spread s = {0};

        time_spread_add(&s, us * 0.5);
        time_spread_add(&s, us);
        time_spread_add(&s, us * 2);
        is_near(time_spread_summarize(&s).typical, us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_thousand),
                                       cmocka_unit_test(test_extremes),
                                       cmocka_unit_test(test_steps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
