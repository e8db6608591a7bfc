/* SPDX-License-Identifier: MIT */
/* test_argument_words.c: the words of --words: found, refused, filled in. */
#include "common/text/argument_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_find(void **state)
{
    static const struct {
        const char *text;
        unsigned used;
        int wrong; /* where a brace begins no word; or -1 */
    } cases[] = {
        {"", 0, -1},
        {"plain}", 0, -1},
        {"{rank}", 1U << WORD_RANK, -1},
        {"a{host}{hosts}", 1U << WORD_HOST | 1U << WORD_HOSTS, -1},
        {"{host_rank}{{rank}", 1U << WORD_HOST_RANK | 1U << WORD_BRACE, -1},
        {"{{{rank}", 1U << WORD_BRACE | 1U << WORD_RANK, -1},
        {"{head}:{port}", 1U << WORD_HEAD | 1U << WORD_PORT, -1},
        {"{size}{local_rank}", 1U << WORD_SIZE | 1U << WORD_LOCAL_RANK, -1},
        {"{", 0, 0},
        {"a{", 0, 1},
        {"{{{", 1U << WORD_BRACE, 2},
        {"{rank", 0, 0},
        {"{}", 0, 0},
        {"{Rank}", 0, 0},
        {"{ rank}", 0, 0},
        {"{rank}{ranks}", 1U << WORD_RANK, 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned used = 0;
        const char *wrong = argument_words_find(cases[i].text, &used);

        assert_int_equal(wrong ? wrong - cases[i].text : -1, cases[i].wrong);
        assert_int_equal(used, cases[i].used);
    }
}

static void test_fill(void **state)
{
    static const char *values[ARGUMENT_WORDS] = {
        [WORD_RANK] = "3",       [WORD_HOST_RANK] = "1", [WORD_LOCAL_RANK] = "0",
        [WORD_SIZE] = "4",       [WORD_HOSTS] = "2",     [WORD_HOST] = "{rank}%s",
        [WORD_HEAD] = "fd00::1", [WORD_PORT] = "10015",  [WORD_BRACE] = "{"};
    static const char *const cases[][2] = {
        {"", ""},
        {"{rank} of {size}, {local_rank} on {host_rank} of {hosts}", "3 of 4, 0 on 1 of 2"},
        {"{host}", "{rank}%s"}, /* what was put in is not looked through */
        {"{{rank}}", "{rank}}"},
        {"{{{rank}", "{3"},
        {"{head}", "fd00::1"},
        {"tcp://{head}:{port}", "tcp://[fd00::1]:10015"},
        {"{port}:{head}", "10015:fd00::1"},
        {"{rank {ran {pid}", "{rank {ran {pid}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = argument_words_fill(cases[i][0], values);

        assert_string_equal(text, cases[i][1]);
        free(text);
    }
    values[WORD_HEAD] = "10.0.0.1";
    {
        char *text = argument_words_fill("{head}:{port}", values);

        assert_string_equal(text, "10.0.0.1:10015");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_fill)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
