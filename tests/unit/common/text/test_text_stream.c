/* SPDX-License-Identifier: MIT */
/* test_text_stream.c: text of any length, and memory that ends anywhere in it. */
#include "common/text/text_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 3000 };

static int reallocs_left = -1; /* -1: no end */

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_realloc(void *old, size_t size)
{
    if (reallocs_left == 0)
        return NULL;
    reallocs_left -= reallocs_left > 0;
    return __real_realloc(old, size);
}

/* The text of that many lines, or NULL. */
static char *lines_make(int count)
{
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    assert_non_null(to);
    for (int i = 0; i < count; i++)
        fprintf(to, "line %d\n", i);
    return text_stream_close(to, &s);
}

static void test_whole(void **state)
{
    char *text = lines_make(0), expected[32];
    const char *at;

    (void)state;
    assert_string_equal(text, "");
    free(text);
    at = text = lines_make(LINES);
    for (int i = 0; i < LINES; i++) {
        snprintf(expected, sizeof(expected), "line %d\n", i);
        assert_int_equal(strncmp(at, expected, strlen(expected)), 0);
        at += strlen(expected);
    }
    assert_string_equal(at, "");
    free(text);
}

static void test_memory_ends(void **state)
{
    char *text;
    int most = 0;

    (void)state;
    for (bool was_whole = false; !was_whole; most++) {
        reallocs_left = most;
        text = lines_make(LINES);
        was_whole = reallocs_left > 0;
        reallocs_left = -1;
        if (was_whole)
            assert_non_null(text);
        else if (text) /* as many as it needs */
            assert_int_equal(strlen(text),
                             strlen("line \n") * LINES + 10 + 90 * 2 + 900 * 3 + 2000 * 4);
        free(text);
    }
    assert_true(most > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_memory_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
