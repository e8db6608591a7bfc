/* SPDX-License-Identifier: MIT */
#include "common/text/text_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check(const char *text, const char *expected)
{
    json_t *value = text_json(text);

    assert_non_null(value);
    assert_string_equal(json_string_value(value), expected);
    json_decref(value);
}

static void test_bad_bytes_alone_change(void **state)
{
    (void)state;
    check("", "");
    check("caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac");
    check("caf\xe9 caf\xc3\xa9", "caf? caf\xc3\xa9");
    check("cut in \xc3\xa9 and \xe2\x82", "cut in \xc3\xa9 and ??");
    check("\xc0\xaf\xed\xa0\x80\xff", "??????"); /* too long, half of a pair, never used */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_bytes_alone_change)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
