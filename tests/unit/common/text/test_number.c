/* SPDX-License-Identifier: MIT */
#include "common/text/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        int64_t min, max, value;
        bool ok;
    } cases[] = {
        {"0", 0, 9, 0, true},
        {"7", 0, 9, 7, true},
        {"007", 0, 9, 7, true},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX, true},
        {"-9223372036854775808", INT64_MIN, 0, INT64_MIN, true},
        {"-3", -5, 5, -3, true},
        {"-0", -5, 5, 0, true},
        {"10", 0, 9, 0, false},
        {"4", 5, 9, 0, false},
        {"-3", 0, 9, 0, false},
        {"-0", 0, 9, 0, false},
        {"", 0, 9, 0, false},
        {"-", -5, 5, 0, false},
        {"+3", -5, 5, 0, false},
        {" 3", 0, 9, 0, false},
        {"3 ", 0, 9, 0, false},
        {"- 3", -5, 5, 0, false},
        {"--3", -5, 5, 0, false},
        {"3x", 0, 9, 0, false},
        {"0x3", 0, 9, 0, false},
        {"3.0", 0, 9, 0, false},
        {"9223372036854775808", 0, INT64_MAX, 0, false},
        {"-9223372036854775809", INT64_MIN, 0, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 12345;
        bool ok = number_parse(cases[i].text, cases[i].min, cases[i].max, &value);

        if (ok != cases[i].ok || value != (ok ? cases[i].value : 12345))
            fail_msg("\"%s\" in [%ld, %ld]", cases[i].text, (long)cases[i].min, (long)cases[i].max);
    }
}

static void test_hex(void **state)
{
    static const uint8_t bytes[3] = {0x00, 0xaf, 0x12};
    static const char *const bad[] = {"", "00af1", "00af123", "00af1g", "00 f12", "00af12 "};
    uint8_t back[3] = {1, 1, 1};
    char text[7];

    (void)state;
    hex_write(text, bytes, 3);
    assert_string_equal(text, "00af12");
    assert_true(hex_parse("00AF12", back, 3));
    assert_memory_equal(back, bytes, 3);
    memset(back, 1, 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(hex_parse(bad[i], back, 3));
    assert_memory_equal(back, "\1\1\1", 3);
    assert_true(hex_parse("", back, 0));
}

static void test_parse_size(void **state)
{
    static const struct {
        const char *text;
        int64_t max, value; /* -1: none */
    } cases[] = {
        {"0", 10, 0},
        {"4096", 4096, 4096},
        {"4096", 4095, -1},
        {"4K", 4096, 4096},
        {"4k", 4095, -1},
        {"3m", INT64_MAX, 3 << 20},
        {"1G", 1 << 30, 1 << 30},
        {"", 10, -1},
        {"K", 10, -1},
        {"-1K", 9999, -1},
        {"1KB", 9999, -1},
        {"1.5K", 9999, -1},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"9223372036854775807K", INT64_MAX, -1},
        {"000000000000000000000000001", INT64_MAX, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t value = -1;

        number_parse_size(cases[i].text, strlen(cases[i].text), cases[i].max, &value);
        if (value != cases[i].value)
            fail_msg("%s: %lld", cases[i].text, (long long)value);
    }
}

static void test_size(void **state)
{
    char text[NUMBER_SIZE];

    (void)state;
    assert_string_equal(number_size(text, 999), "999 bytes");
    assert_string_equal(number_size(text, 3440000), "3.4 MB");
    assert_string_equal(number_size(text, UINT64_MAX), "18.4 EB");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_size),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_hex),
    };

    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
