/* SPDX-License-Identifier: MIT */
/* test_two_samples.c: medians, and the chances of the Mann-Whitney test, which tables have. */
#include "launcher/tools/bench/compare/two_samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void is_about(double value, double expected)
{
    if (fabs(value - expected) > 1e-9)
        fail_msg("%.12f, not %.12f", value, expected);
}

static void test_medians(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

    (void)state;
    is_about(two_samples_median(odd, 3), 2);
    is_about(two_samples_median(even, 4), 2.5);
    is_about(odd[0], 1); /* sorted */
}

static void test_chances(void **state)
{
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
    const double touching[] = {5.5, 6, 7, 8, 9}, one_over[] = {4.5, 6, 7, 8, 9};
    double a[TWO_SAMPLES_MOST], b[TWO_SAMPLES_MOST];

    (void)state;
    is_about(two_samples_chance(low, high, 5), 2.0 / 252);
    is_about(two_samples_chance(high, low, 5), 2.0 / 252);
    is_about(two_samples_chance(low, touching, 5), 2.0 / 252);
    is_about(two_samples_chance(low, one_over, 5), 4.0 / 252); /* u = 1: two orders of 252 */
    is_about(two_samples_chance(low, low, 5), 1);
    is_about(two_samples_chance(low, high, 1), 1);
    is_about(two_samples_chance(low, high, 3), 2.0 / 20);
    for (int i = 0; i < TWO_SAMPLES_MOST; i++) {
        a[i] = i;
        b[i] = 100 + i;
    }
    is_about(two_samples_chance(a, b, TWO_SAMPLES_MOST) * 1e11, 2.0 / 137846528820 * 1e11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_medians),
                                       cmocka_unit_test(test_chances)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
