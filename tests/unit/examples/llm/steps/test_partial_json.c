/* SPDX-License-Identifier: MIT */
/* test_partial_json.c: which bytes may follow the beginning of a JSON object, and that every
 * beginning has an end that jansson reads. */
#include "examples/llm/steps/partial_json.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DIGITS15 "123456789012345"
#define SPACES32 "                                "

static const struct {
    const char *text;
    int refused_at; /* the first byte that is refused; -1: none */
    bool is_whole;
} rows[] = {
    {"{}", -1, true},
    {"{\n \t} \r\n", -1, true},
    {"{\"a\":1}", -1, true},
    {"{\"a\" : -0.5e+10 , \"b\":[1,2,{}],\"c\":[true,false,null,\"\"]}", -1, true},
    {"{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud7ff\":\"\xc3\xa9\x7f\"}", -1, true},
    {"{\"a\":{\"b\":{\"c\":[[[]]]}}}", -1, true},
    {"{\"a\":[0,10,0.0,1e9,1E-09]}", -1, true},
    {"{\"a\":" DIGITS15 "." DIGITS15 "}", -1, true},
    {"{" SPACES32 "}", -1, true},

    {"{\"a\":1", -1, false},
    {"{\"a", -1, false},
    {"", -1, false},

    {" {", 0, false},
    {"[]", 0, false},
    {"1", 0, false},
    {"{}{", 2, true},
    {"{} x", 3, true},
    {"{,", 1, false},
    {"{a", 1, false},
    {"{\"a\"}", 4, false},
    {"{\"a\":}", 5, false},
    {"{\"a\":1,}", 7, false},
    {"{\"a\":1]", 6, false},
    {"{\"a\":[1}", 7, false},
    {"{\"a\":[1,]", 8, false},
    {"{\"a\":[,", 6, false},
    {"{\"a\":01", 6, false},
    {"{\"a\":-}", 6, false},
    {"{\"a\":+1", 5, false},
    {"{\"a\":.5", 5, false},
    {"{\"a\":1.}", 7, false},
    {"{\"a\":1e}", 7, false},
    {"{\"a\":1e+}", 8, false},
    {"{\"a\":1e100", 9, false},
    {"{\"a\":1.5.", 8, false},
    {"{\"a\":1 2", 7, false},
    {"{\"a\":" DIGITS15 "6", 20, false},
    {"{\"a\":0." DIGITS15 "6", 22, false},
    {"{\"a\":trux", 8, false},
    {"{\"a\":nulll", 9, false},
    {"{\"a\":True", 5, false},
    {"{\"a\nb", 3, false},
    {"{\"a\\x", 4, false},
    {"{\"\\u00g", 6, false},
    {"{\"\\u0001", -1, false},
    {"{\"\\u0000", 7, false},
    {"{\"\\ud8", 5, false},
    {"{\"\\uDf", 5, false},
    {"{'a", 1, false},
    {"{//", 1, false},
    {"{" SPACES32 " ", 33, false},
};

static void each_row_is_taken_as_far_as_it_is_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].text), at = 0;
        struct partial_json p, at_once;

        partial_json_begin(&p);
        at_once = p;
        while (at < length && partial_json_add(&p, rows[i].text + at, 1))
            at++;
        if ((at == length ? -1 : (int)at) != rows[i].refused_at ||
            partial_json_is_whole(&p) != rows[i].is_whole)
            fail_msg("%s: refused at %zu", rows[i].text, at);
        assert_int_equal(partial_json_add(&at_once, rows[i].text, length), at == length);
    }
}

static void levels_have_a_bound(void **state)
{
    struct partial_json p;
    int levels = 1;

    (void)state;
    partial_json_begin(&p);
    assert_true(partial_json_add(&p, "{\"a\":", 5));
    while (levels < 100 && partial_json_add(&p, "[", 1))
        levels++;
    assert_int_equal(levels, 64);
    assert_false(partial_json_add(&p, "{", 1));
    while (!partial_json_is_whole(&p)) {
        char byte = partial_json_next(&p);

        assert_true(partial_json_add(&p, &byte, 1));
        levels--;
    }
    assert_int_equal(levels, 0);
}

/* Bytes that come by chance, and then the shortest way to the end. */
static void every_beginning_has_an_end(void **state)
{
    static const char likely[] = "{{{[[}]:,\"\"\"\\\\uudDn 0123456789.eE+-truefalsnl\n\xc3";
    uint32_t random = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct partial_json p;
        char text[1200];
        size_t length = 0;

        partial_json_begin(&p);
        for (int i = 0; i < 400 && !partial_json_is_whole(&p); i++) {
            random = random * 1664525 + 1013904223;
            text[length] = likely[(random >> 10) % (sizeof(likely) - 1)];
            if (text[length] != '\xc3' && partial_json_add(&p, text + length, 1))
                length++;
        }
        for (int i = 0; !partial_json_is_whole(&p); i++) {
            assert_true(i < 300);
            text[length] = partial_json_next(&p);
            assert_true(partial_json_add(&p, text + length++, 1));
        }
        json_error_t error;
        json_t *value = json_loadb(text, length, 0, &error);

        if (!json_is_object(value))
            fail_msg("%.*s: %s", (int)length, text, error.text);
        json_decref(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_taken_as_far_as_it_is_json),
        cmocka_unit_test(levels_have_a_bound),
        cmocka_unit_test(every_beginning_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
