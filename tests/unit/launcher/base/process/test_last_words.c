/* SPDX-License-Identifier: MIT */
/* test_last_words.c: the end of what was said, in one line. */
#include "launcher/base/process/last_words.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_line(void **state)
{
    struct last_words w = {.size = 0};
    char text[64], small[5];

    (void)state;
    last_words_line(&w, text, sizeof(text));
    assert_string_equal(text, "");
    last_words_add(&w, "  one\r\n\n\ttwo\033[1m\n", 16);
    last_words_line(&w, text, sizeof(text));
    assert_string_equal(text, "one two [1m");
    last_words_line(&w, small, sizeof(small));
    assert_string_equal(small, " [1m");
}

static void test_only_the_end_is_kept(void **state)
{
    struct last_words w = {.size = 0};
    char block[3000], text[3000];

    (void)state;
    memset(block, 'a', sizeof(block));
    last_words_add(&w, block, 2000);
    last_words_add(&w, "bcd", 3);
    assert_int_equal(w.size, 2003);
    last_words_add(&w, block, 100);
    assert_int_equal(w.size, sizeof(w.bytes));
    last_words_line(&w, text, sizeof(text));
    assert_int_equal(strlen(text), sizeof(w.bytes));
    assert_ptr_equal(strstr(text, "bcd"), text + sizeof(w.bytes) - 103);
    last_words_add(&w, block, sizeof(block));
    last_words_line(&w, text, sizeof(text));
    assert_null(strstr(text, "bcd"));
}

/* The first line that is shown is a whole one, if another follows. */
static void test_text(void **state)
{
    struct last_words w = {.size = 0};
    char text[12];

    (void)state;
    last_words_text(&w, text, sizeof(text));
    assert_string_equal(text, "");
    last_words_add(&w, "one\ntwo\n", 8);
    last_words_text(&w, text, sizeof(text));
    assert_string_equal(text, "one\ntwo");
    last_words_add(&w, "three\n\n", 7);
    last_words_text(&w, text, sizeof(text));
    assert_string_equal(text, "three");
    last_words_add(&w, "a line that is long", 19);
    last_words_text(&w, text, sizeof(text));
    assert_string_equal(text, "hat is long");
}

static void test_read(void **state)
{
    struct last_words w = {.size = 0};
    char text[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_true(last_words_read(&w, ends[0]));
    assert_int_equal(write(ends[1], "gone", 4), 4);
    assert_true(last_words_read(&w, ends[0]));
    close(ends[1]);
    assert_false(last_words_read(&w, ends[0]));
    assert_false(last_words_read(&w, -1));
    last_words_line(&w, text, sizeof(text));
    assert_string_equal(text, "gone");
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_only_the_end_is_kept),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
