/* SPDX-License-Identifier: MIT */
/* test_name_ranges.c: the short form of several host names. */
#include "launcher/base/text/name_ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NAMES_MOST = 16 };

/* The names are separated by blanks. */
static void expect(const char *names, const char *expected)
{
    char *copy = strdup(names), *rest = copy, *text = NULL;
    const char *list[NAMES_MOST];
    struct fault why;
    size_t count = 0;

    assert_non_null(copy);
    for (const char *name; (name = strtok_r(rest, " ", &rest)) != NULL;)
        list[count++] = name;
    assert_int_equal(name_ranges_format(&text, list, count, &why), 0);
    assert_string_equal(text, expected);
    free(text);
    free(copy);
}

static void test_ranges(void **state)
{
    (void)state;
    expect("", "");
    expect("login", "login");
    expect("n1", "n1");
    expect("n2 n1", "n[1,2]");
    expect("n3 n1 n2 n7", "n[1-3,7]");
    expect("n8 n9 n10 n11", "n[8-11]");
    expect("n08 n09 n10", "n[08-10]");
    expect("n1 n01", "n[1,01]");
    expect("gpu1 n1 gpu2 login", "gpu[1,2],login,n1");
}

static void test_suffixes_and_addresses(void **state)
{
    (void)state;
    expect("n1-ib n2-ib n3-ib n1", "n1,n[1-3]-ib");
    expect("n1.c2.org n2.c2.org", "n[1,2].c2.org");
    expect("10.0.0.1 10.0.0.2 10.0.0.3 10.0.1.1", "10.0.0.[1-3],10.0.1.1");
    expect("n12345678901 n12345678902", "n12345678901,n12345678902");
}

static void test_letters(void **state)
{
    (void)state;
    expect("a", "a");
    expect("h g f e d c a", "a,c-h");
    expect("b a", "a,b");
    expect("b a n1 n2", "a,b,n[1,2]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_suffixes_and_addresses),
        cmocka_unit_test(test_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
