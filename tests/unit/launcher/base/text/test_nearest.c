/* SPDX-License-Identifier: MIT */
/* test_nearest.c: how far words are from each other. */
#include "launcher/base/text/nearest.h"

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
}

static void test_word(void **state)
{
    static const char *const words[] = {"slots", "hosts", "np", NULL};
    static const char *const none[] = {NULL};

    (void)state;
    assert_string_equal(nearest_word("slot", words), "slots");
    assert_string_equal(nearest_word("Host", words), "hosts");
    assert_string_equal(nearest_word("npp", words), "np");
    assert_null(nearest_word("comment", words));
    assert_null(nearest_word("nodes", words)); /* farther than a slip */
    assert_null(nearest_word("x", none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest), cmocka_unit_test(test_word)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
