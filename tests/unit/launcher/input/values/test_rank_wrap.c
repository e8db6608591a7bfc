/* SPDX-License-Identifier: MIT */
/* test_rank_wrap.c: the values of --wrap. */
#include "launcher/input/values/rank_wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_words(void **state)
{
    struct fault why = {0};
    struct rank_wrap w;

    (void)state;
    assert_int_equal(rank_wrap_parse(&w, "0,3-5: strace -o 'a: {rank}' -f", &why), 0);
    assert_true(rank_set_has(&w.ranks, 4));
    assert_false(rank_set_has(&w.ranks, 1));
    assert_string_equal(w.words[0], "strace");
    assert_string_equal(w.words[2], "a: {rank}");
    assert_string_equal(w.words[3], "-f");
    assert_null(w.words[4]);
    rank_wrap_clear(&w);
    assert_int_equal(rank_wrap_parse(&w, "all:perf", &why), 0);
    assert_true(w.ranks.is_all);
    rank_wrap_clear(&w);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"gdb", "'gdb' does not say which ranks: write RANKS: COMMAND, as '3: gdb --args'"},
        {":gdb", "'' is not a list of ranks"},
        {"3 : gdb", "'3 ' is not a list of ranks"},
        {"3:", "'' names no program"},
        {"3: ''", "names no program"},
        {"3: gdb 'x", "ends inside quotes"},
        {"3: gdb \x1b", "contains a control character"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rank_wrap w;
        struct fault why = {0};

        if (rank_wrap_parse(&w, cases[i].text, &why) != ML_ERR_ARGUMENT ||
            !strstr(why.text, cases[i].sentence))
            fail_msg("%s: %s", cases[i].text, why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
