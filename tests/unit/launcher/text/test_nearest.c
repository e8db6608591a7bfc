/* SPDX-License-Identifier: MIT */
/* test_nearest.c: how far words are from each other. */
#include "launcher/text/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_nearest(void **state)
{
    (void)state;
    assert_int_equal(nearest_distance("", ""), 0);
    assert_int_equal(nearest_distance("abc", ""), 3);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    assert_int_equal(nearest_distance("hots", "host"), 1);
    assert_int_equal(nearest_distance("HOST", "host"), 0);
    assert_true(nearest_is_slip("slot", "slots"));
    assert_false(nearest_is_slip("comment", "slots"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
