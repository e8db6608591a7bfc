/* SPDX-License-Identifier: MIT */
/* test_command_words.c: how --agent-command is split into words, and how words are quoted. */
#include "launcher/base/text/command_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void join(const struct string_list *l, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < l->count; i++)
        n += (size_t)snprintf(out + n, size - n, "<%s>", l->items[i]);
}

static void test_split(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {{"docker exec -i {host}", "<docker><exec><-i><{host}>"},
                 {"  a\t b  ", "<a><b>"},
                 {"a 'b c' \"d e\" f\\ g", "<a><b c><d e><f g>"},
                 {"a '' \"\"", "<a><><>"},
                 {"a x'y z'w", "<a><xy zw>"},
                 {"a \"q\\\"r\\\\s\\t\" '\\'", "<a><q\"r\\s\\t><\\>"},
                 {"a $(b) `c` $D *?[x] ; | & > ~", "<a><$(b)><`c`><$D><*?[x]><;><|><&><>><~>"},
                 {"kubectl exec -i {host} -- ", "<kubectl><exec><-i><{host}><-->"}};
    static const char *const refused[] = {"",      "  ",    "''",   "a 'b",
                                          "a \"b", "a b\\", "a\nb", "a \x1b"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct string_list l = {0};
        struct fault why = {0};
        char words[256] = "";

        if (command_words_split(&l, cases[i].text, &why))
            fail_msg("%s: %s", cases[i].text, why.text);
        join(&l, words, sizeof(words));
        assert_string_equal(words, cases[i].words);
        string_list_clear(&l);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct string_list l = {0};
        struct fault why = {0};

        if (command_words_split(&l, refused[i], &why) != ML_ERR_ARGUMENT)
            fail_msg("'%s' was taken", refused[i]);
        string_list_clear(&l);
    }
}

static void test_host(void **state)
{
    static const char *const words[] = {"a", "x{host}y-{host}", "{hos}", NULL};
    static const char *const none[] = {"a", "host", "{host", NULL};
    static const struct text_gap gaps[] = {{"{host}", "n1"}, {NULL, NULL}};
    struct string_list l = {0};
    struct fault why = {0};
    char joined[256] = "";

    (void)state;
    assert_true(command_words_name_host((char *const *)words));
    assert_false(command_words_name_host((char *const *)none));
    assert_int_equal(command_words_fill(&l, (char *const *)words, gaps, &why), 0);
    join(&l, joined, sizeof(joined));
    assert_string_equal(joined, "<a><xn1y-n1><{hos}>");
    string_list_clear(&l);
}

static void test_quote(void **state)
{
    static const struct {
        const char *word, *quoted;
    } cases[] = {{"", "''"},
                 {"-a_Z=9+./,:@%^", "-a_Z=9+./,:@%^"},
                 {"a b", "'a b'"},
                 {"it's", "'it'\\''s'"},
                 {"$x\n`c`\\", "'$x\n`c`\\'"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = NULL;
        size_t size;
        FILE *to = open_memstream(&text, &size);

        assert_non_null(to);
        command_words_quote(to, cases[i].word);
        fclose(to);
        assert_string_equal(text, cases[i].quoted);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_split), cmocka_unit_test(test_host),
                                       cmocka_unit_test(test_quote)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
