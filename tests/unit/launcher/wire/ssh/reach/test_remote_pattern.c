/* SPDX-License-Identifier: MIT */
/* test_remote_pattern.c: patterns and lists of them. */
#include "launcher/wire/ssh/reach/remote_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* With 60 stars, trying every way to share the name out among them would not end. */
static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"*", "", true},         {"*", "abc", true},       {"a*", "abc", true},
        {"*c", "abcc", true},    {"*c", "abcd", false},    {"a*b*c", "aXbXbc", true},
        {"a*b*c", "acb", false}, {"*ab?", "aabab", false}, {"*ab?", "aababc", true},
        {"?", "", false},        {"a**", "a", true},       {"A*.Example", "a1.eXAMPLE", true},
        {"abc", "ab", false},    {"ab", "abc", false},     {"x,*b", "ab", true},
        {"!ab,*", "ab", false},  {"*,!a*", "abc", false},  {"", "a", false},
    };
    char stars[256] = "", name[121] = "", list[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(list, sizeof(list), "%s", cases[i].pattern);
        if (remote_pattern_list_matches(list, cases[i].name) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
    }
    for (int i = 0; i < 60; i++) {
        memcpy(stars + (size_t)i * 2, "*a", 3);
        memcpy(name + (size_t)i * 2, "aa", 3);
    }
    memcpy(stars + 120, "b", 2);
    assert_false(remote_pattern_list_matches(stars, name));
    stars[120] = '\0';
    assert_true(remote_pattern_list_matches(stars, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
