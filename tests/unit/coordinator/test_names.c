/* SPDX-License-Identifier: MIT */
/* test_names.c: names are published once, found, and withdrawn; there are not too many. */
#include "coordinator/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool take(struct names *n, const char *what, const char *service, const char *port)
{
    return names_take(n, what, service, &port);
}

static void finds(struct names *n, const char *service, const char *expected)
{
    const char *port = NULL;

    assert_true(names_take(n, "lookup", service, &port));
    assert_string_equal(port, expected);
}

static void test_names(void **state)
{
    struct names n = {0};
    char long_one[NAMES_TEXT + 1];

    (void)state;
    assert_false(take(&n, "lookup", "a", NULL));
    assert_false(take(&n, "unpublish", "a", NULL));
    assert_true(take(&n, "publish", "a", "1"));
    assert_true(take(&n, "publish", "b", "2"));
    assert_false(take(&n, "publish", "a", "3"));
    assert_false(take(&n, "publish", "c", NULL));
    assert_false(take(&n, "other", "a", NULL));
    finds(&n, "a", "1");
    finds(&n, "b", "2");
    assert_true(take(&n, "unpublish", "a", NULL));
    assert_false(take(&n, "lookup", "a", NULL));
    finds(&n, "b", "2");
    assert_true(take(&n, "publish", "a", "3"));
    finds(&n, "a", "3");
    memset(long_one, 'x', sizeof(long_one));
    long_one[NAMES_TEXT] = '\0';
    assert_false(take(&n, "publish", long_one, "1"));
    assert_false(take(&n, "publish", "long", long_one));
    names_clear(&n);
    assert_false(take(&n, "lookup", "a", NULL));
}

static void test_limit(void **state)
{
    struct names n = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < NAMES_MOST; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_true(take(&n, "publish", name, name));
    }
    assert_false(take(&n, "publish", "more", "x"));
    assert_true(take(&n, "unpublish", "7", NULL));
    assert_true(take(&n, "publish", "more", "x"));
    names_clear(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
