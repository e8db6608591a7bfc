/* SPDX-License-Identifier: MIT */
/* test_characters.c: bytes at the bounds of what UTF-8 allows, beside the launcher's reader. */
#include "examples/llm/text/characters.h"

#include "common/text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const unsigned char bytes[] = {'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                      0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xee,
                                      0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};

enum { BYTES = sizeof(bytes) };

static void four_read(const char text[5])
{
    uint32_t code;
    size_t size, n = characters_read(text, 4, &size);

    assert_int_equal(n && n == size ? n : 0, utf8_read(text, &code));
    for (size_t length = 1; length < n; length++)
        assert_int_equal(characters_read(text, length, &size), length);
}

static void as_the_launcher_reads(void **state)
{
    char text[5] = {0};

    (void)state;
    for (size_t i = 0; i < (size_t)BYTES * BYTES * BYTES * BYTES; i++) {
        text[0] = (char)bytes[i % BYTES];
        text[1] = (char)bytes[i / BYTES % BYTES];
        text[2] = (char)bytes[i / BYTES / BYTES % BYTES];
        text[3] = (char)bytes[i / BYTES / BYTES / BYTES];
        four_read(text);
    }
}

static void others_become_fffd(void **state)
{
    size_t size = 0;
    char *copy = characters_mend("a\xc3\xa4\xe2\x82\0\xff", 7, &size);

    (void)state;
    assert_int_equal(size, 3 + 6 + 1 + 3);
    assert_memory_equal(copy, "a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\0\xef\xbf\xbd", size + 1);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_launcher_reads),
        cmocka_unit_test(others_become_fffd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
