/* SPDX-License-Identifier: MIT */
/* test_text_out.c: texts in all ways to cut them into two and three tokens, and byte by byte. */
#include "examples/llm/text/text_out.h"

#include "common/text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct out_case {
    const char *text;     /* the tokens together */
    const char *stops[4]; /* up to a NULL */
    const char *expected;
};

static const struct out_case cases[] = {
    {"hello", {0}, "hello"},
    {"", {0}, ""},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 end", {0}, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 end"},
    /* Bytes that can become no character: one U+FFFD for each that is begun. */
    {"a\xff"
     "b",
     {0},
     "a\xef\xbf\xbd"
     "b"},
    {"a\x80\x80"
     "b",
     {0},
     "a\xef\xbf\xbd\xef\xbf\xbd"
     "b"},
    {"\xe2\x82", {0}, "\xef\xbf\xbd"},
    {"\xe2\x82z", {0}, "\xef\xbf\xbdz"},
    {"\xf0\x9f\x98", {0}, "\xef\xbf\xbd"},
    {"\xc3\xc3\xa4", {0}, "\xef\xbf\xbd\xc3\xa4"},
    {"\xed\xa0\x80", {0}, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xc0\xaf", {0}, "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xf4\x90\x80\x80", {0}, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    /* Stop strings. */
    {"one STOP two", {"STOP"}, "one "},
    {"one STO", {"STOP"}, "one STO"},
    {"one STO two", {"STOP"}, "one STO two"},
    {"STOP", {"STOP"}, ""},
    {"aab", {"ab"}, "a"},
    {"aaab", {"aab"}, "a"},
    {"abcabd!", {"abd"}, "abc"},
    {"x\n\ny", {"\n\n", "y"}, "x"},
    {"xyz", {"z", "yz"}, "x"},
    {"xyz", {"", "q"}, "xyz"},
    {"1\xe2\x82\xac"
     "2",
     {"\xe2\x82\xac"},
     "1"},
    {"1\xe2\x82\xad"
     "2",
     {"\xe2\x82\xac"},
     "1\xe2\x82\xad"
     "2"},
};

static char collected[256];

static void collect(const char *ready, size_t length)
{
    size_t used = strlen(collected);

    assert_true(length < sizeof(collected) - used);
    memcpy(collected + used, ready, length);
    collected[used + length] = '\0';
    assert_true(utf8_is_valid(collected));
}

/* Gives out the text in tokens that end at `ends`, as servers do: nothing after a stop. */
static void tokens_give(const struct out_case *c, const size_t *ends, size_t count)
{
    struct text_out *o;
    const char *ready;
    size_t stops = 0, length, begin = 0;
    bool has_stopped = false;

    while (stops < 4 && c->stops[stops])
        stops++;
    o = text_out_new(c->stops, stops);
    assert_non_null(o);
    collected[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        has_stopped = text_out_add(o, c->text + begin, ends[i] - begin, &ready, &length);
        collect(ready, length);
        if (has_stopped)
            break;
        begin = ends[i];
    }
    text_out_end(o, &ready, &length);
    collect(ready, length);
    assert_string_equal(collected, c->expected);
    assert_false(text_out_has_failed(o));
    text_out_free(o);
}

static void cut_anywhere(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const struct out_case *c = &cases[k];
        size_t length = strlen(c->text), every[64];

        for (size_t i = 0; i <= length; i++) {
            for (size_t j = i; j <= length; j++)
                tokens_give(c, (const size_t[]){i, j, length}, 3);
            every[i] = i;
        }
        tokens_give(c, every, length + 1);
    }
}

/* As soon as it is certain, and not later. */
static void given_at_once(void **state)
{
    static const char *const stops[] = {"\nUser:"};
    static const struct {
        const char *token, *ready;
    } steps[] = {{"Hi", "Hi"}, {" there\n", " there"},  {"Us", ""}, {"ed", "\nUsed"}, {"\xe2", ""},
                 {"\x82", ""}, {"\xac", "\xe2\x82\xac"}};
    struct text_out *o = text_out_new(stops, 1);
    const char *ready;
    size_t length;

    (void)state;
    assert_non_null(o);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_false(text_out_add(o, steps[i].token, strlen(steps[i].token), &ready, &length));
        assert_int_equal(length, strlen(steps[i].ready));
        assert_memory_equal(ready, steps[i].ready, length);
    }
    assert_true(text_out_add(o, "!\nUser: x", 9, &ready, &length));
    assert_int_equal(length, 1);
    assert_memory_equal(ready, "!", 1);
    assert_true(text_out_add(o, "more", 4, &ready, &length));
    assert_int_equal(length, 0);
    text_out_free(o);
    text_out_free(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(given_at_once),
    };

    return cmocka_run_group_tests_name("text_out", tests, NULL, NULL);
}
