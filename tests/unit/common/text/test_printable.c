/* SPDX-License-Identifier: MIT */
#include "common/text/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Writes the character as UTF-8, also where that is not allowed. */
static size_t encode(char out[5], uint32_t code)
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(first[size] | code);
    out[size] = '\0';
    return size;
}

static bool is_unwanted(uint32_t c)
{
    return c <= 0x1f || c == 0x7f || (c >= 0x80 && c <= 0x9f) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static void test_all_code_points(void **state)
{
    char text[16], expected[16];

    (void)state;
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        char one[5];

        encode(one, c);
        snprintf(text, sizeof(text), "a%sb", one);
        if (c >= 0xd800 && c <= 0xdfff)
            strcpy(expected, "a???b"); /* a half of UTF-16: no byte of it is UTF-8 */
        else
            snprintf(expected, sizeof(expected), "a%sb", is_unwanted(c) ? "?" : one);
        printable_mend(text, "");
        if (strcmp(text, expected) != 0)
            fail_msg("U+%04X", (unsigned)c);
    }
}

static void test_invalid(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ""},
        {"\x9b", "?"}, /* CSI of a terminal that reads bytes */
        {"a\x80z", "a?z"},
        {"\xc0\x9b", "??"}, /* longer forms of what fits into fewer bytes */
        {"\xc1\xbf", "??"},
        {"\xe0\x82\x9b", "???"},
        {"\xf0\x80\x82\x9b", "????"},
        {"\xf4\x90\x80\x80", "????"}, /* behind U+10FFFF */
        {"\xf8\x88\x80\x80\x80", "?????"},
        {"\xff\xfe", "??"},
        {"a\xe2\x80", "a??"}, /* cut */
        {"\xe2\x80z", "??z"},
        {"\xc3\x1b[2J", "??[2J"},
        {"\xc3\xc3\xa4", "?\xc3\xa4"},
        {"\033]0;pwned\007", "?]0;pwned?"},
        {"\xc2\x9b\x32J", "?2J"},
        {"x\xe2\x80\xaey", "x?y"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[32];

        snprintf(text, sizeof(text), "%s", cases[i].text);
        printable_mend(text, "");
        assert_string_equal(text, cases[i].expected);
    }
}

static void test_kept(void **state)
{
    char text[] = "a\tb\nc\rd\033\xc2\x8a";

    (void)state;
    printable_mend(text, "\n\t");
    assert_string_equal(text, "a\tb\nc?d??");
    printable_mend(text, "");
    assert_string_equal(text, "a?b?c?d??");
}

static void test_print(void **state)
{
    char text[64] = "";
    int ends[2], saved = dup(1);

    (void)state;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], 1);
    printable_print("host %s:\t%d\n", "a\033[2J\xc2\x9b", 5);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    assert_string_equal(text, "host a?[2J?:\t5\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_code_points),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
