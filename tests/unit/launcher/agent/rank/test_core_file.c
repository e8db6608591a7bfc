/* SPDX-License-Identifier: MIT */
/* test_core_file.c: core(5)'s patterns. */
#include "launcher/agent/rank/core_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *cwd, *expected;
        bool uses_pid;
    } table[] = {
        {"core", "/srv", "/srv/core", false},
        {"core", "/srv", "/srv/core.77", true},
        {"core.%p", "/srv", "/srv/core.77", true},
        {"/cores/%e.%p.%s", "/srv", "/cores/*.77.11", false},
        {"/cores/%%a%", "/srv", "/cores/%a", false},
        {"c*re", "/w[1]", "/w\\[1]/c\\*re", false},
        {"|/usr/lib/systemd/systemd-coredump %P", "/srv", NULL, false},
        {"", "/srv", NULL, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char out[64] = "";
        bool is_known = core_file_pattern(out, sizeof(out), table[i].pattern, table[i].uses_pid, 77,
                                          11, table[i].cwd);

        if (is_known != (table[i].expected != NULL) ||
            (is_known && strcmp(out, table[i].expected) != 0))
            fail_msg("\"%s\": \"%s\", not \"%s\"", table[i].pattern, out,
                     table[i].expected ? table[i].expected : "(none)");
    }
}

static void what_is_too_long_is_not_cut(void **state)
{
    char out[8];

    (void)state;
    assert_false(core_file_pattern(out, sizeof(out), "core.%p", false, 123456, 11, "/w"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(what_is_too_long_is_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
