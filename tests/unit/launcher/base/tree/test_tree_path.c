/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void test_tidy(void **state)
{
    static const struct {
        const char *path, *plain;
        bool has_parent;
    } rows[] = {{"/a/b", "/a/b", false},
                {"//a///b/", "/a/b", false},
                {"/./a/./b/.", "/a/b", false},
                {"/", "", false},
                {"/a/../b", "/a/../b", true},
                {"/a/..", "/a/..", true},
                {"/..a/b../.c", "/..a/b../.c", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[32];

        snprintf(path, sizeof(path), "%s", rows[i].path);
        assert_int_equal(tree_path_tidy(path), rows[i].has_parent);
        assert_string_equal(path, rows[i].plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tidy)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
