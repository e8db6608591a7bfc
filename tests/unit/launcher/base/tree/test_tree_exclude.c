/* SPDX-License-Identifier: MIT */
/* test_tree_exclude.c: which names the patterns of --exclude leave out. */
#include "launcher/base/tree/tree_exclude.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_patterns(void **state)
{
    static const struct {
        char *pattern;
        const char *path;
        bool is_directory, is_left_out;
    } cases[] = {{"*.o", "p/a.o", false, true},  {"*.o", "p/d/e/a.o", false, true},
                 {"*.o", "p.o", false, false}, /* what was named is never left out */
                 {"p", "p", true, false},        {"p", "p/p", true, true},
                 {"d/", "p/d", true, true},      {"d/", "p/d", false, false},
                 {"d/a", "p/d/a", false, true},  {"d/a", "p/x/d/a", false, false},
                 {"/a", "p/a", false, true},     {"/a", "p/d/a", false, false},
                 {"d/*", "p/d/a", false, true},  {"d/*", "p/d/e/a", false, false},
                 {"[ab]?", "p/a1", false, true}, {".*", "p/.git", true, true},
                 {"", "p/a", false, false},      {"/", "p/a", true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *patterns[] = {cases[i].pattern, NULL};

        assert_int_equal(tree_exclude_has(patterns, cases[i].path, cases[i].is_directory),
                         cases[i].is_left_out);
    }
    assert_false(tree_exclude_has(NULL, "p/a", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
