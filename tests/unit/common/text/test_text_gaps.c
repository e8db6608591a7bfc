/* SPDX-License-Identifier: MIT */
/* test_text_gaps.c: the gaps of a command's words, which a host, a rank or a process fills. */
#include "common/text/text_gaps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_fill(void **state)
{
    static const struct text_gap gaps[] = {
        {"{rank}", "3"}, {"{host}", "{rank}"}, {"{none}", ""}, {NULL, NULL}};
    static const char *const cases[][2] = {
        {"", ""},
        {"trace.{rank}", "trace.3"},
        {"{rank}{rank}x{rank}", "33x3"},
        {"{host}", "{rank}"}, /* what was put in is not looked through */
        {"{none}", ""},
        {"{{rank}}", "{3}"},
        {"{rank {ran", "{rank {ran"},
        {"{pid}", "{pid}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = text_gaps_fill(cases[i][0], gaps);

        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fill)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
