/* SPDX-License-Identifier: MIT */
/* test_libc_need.c: which hosts' C libraries are new enough. */
#include "launcher/base/loader/libc_need.h"

#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_hosts(void **state)
{
    static const struct {
        const char *need, *host;
        bool is_met;
    } cases[] = {
        {"2.34", "glibc 2.34", true},      {"2.34", "glibc 2.41", true},
        {"2.34", "glibc 2.100", true},     {"2.34", "glibc 2.33", false},
        {"2.34", "glibc 2.4", false},      {"2.2.5", "glibc 2.31", true},
        {"2.34", "glibc 2.34.9000", true}, {"2.34", "musl 1.2.5", false},
        {"", "musl 1.2.5", true},          {"", "glibc 2.17", true},
        {"2.34", "unknown", true},         {"2.34", "", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(libc_need_is_met(cases[i].need, cases[i].host), cases[i].is_met);
}

static void test_files(void **state)
{
    char need[LIBC_NEED_TEXT] = "";

    (void)state;
    libc_need_raise(need, "/no/such/file");
    libc_need_raise(need, "/etc/passwd");
    assert_string_equal(need, "");
    libc_need_raise(need, "/proc/self/exe");
    assert_true(need[0] == '2' && need[1] == '.');
    strcpy(need, "99.1");
    libc_need_raise(need, "/proc/self/exe");
    assert_string_equal(need, "99.1");
}

static void test_own(void **state)
{
    char own[LIBC_NEED_TEXT] = "99.1", host[64];

    (void)state;
    libc_need_own(own);
    assert_string_equal(own, gnu_get_libc_version());
    snprintf(host, sizeof(host), "glibc %s", own);
    assert_true(libc_need_is_met(own, host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hosts), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
