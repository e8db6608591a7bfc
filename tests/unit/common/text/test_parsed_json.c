/* SPDX-License-Identifier: MIT */
#include "common/text/parsed_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The linker makes these of malloc and realloc, in this program and the libraries in it. */
void *__real_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *old, size_t size);

static long calls_left = -1; /* until one fails; below 0: none does */

static bool fails(void)
{
    return calls_left >= 0 && calls_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static const char text[] =
    "{\"a name that is longer than the first buffer\": [1, 2.5, true, null, {\"k\": \"\\u00e4 long "
    "string, which needs a larger buffer again, and its own memory\"}], \"b\": {}, \"c\": [[]]}";

/* A sanitizer sees whether anything leaks, or is read or written beyond its end. */
static void test_each_call_fails(void **state)
{
    json_t *value = NULL;
    json_error_t error;
    int failures = -1;

    (void)state;
    while (!value) {
        failures++;
        calls_left = failures;
        value = parsed_json(text, strlen(text), 0, &error);
        if (!value) {
            assert_string_equal(error.text, "out of memory");
            assert_int_equal(json_error_code(&error), json_error_out_of_memory);
        }
    }
    calls_left = -1;
    assert_true(failures > 10);
    assert_int_equal(json_object_size(value), 3);
    json_decref(value);
}

static void test_many_values(void **state)
{
    enum { COUNT = 10000 };
    char *list = malloc(COUNT * 8 + 3), *at = list;
    json_t *value;

    (void)state;
    assert_non_null(list);
    *at++ = '[';
    for (int i = 0; i < COUNT; i++)
        at += snprintf(at, 9, "%s\"%05d\"", i ? "," : "", i);
    strcpy(at, "]");
    value = parsed_json(list, strlen(list), 0, NULL);
    assert_int_equal(json_array_size(value), COUNT);
    assert_string_equal(json_string_value(json_array_get(value, COUNT - 1)), "09999");
    json_decref(value);
    free(list);
}

static void test_malformed(void **state)
{
    json_error_t error;

    (void)state;
    assert_null(parsed_json("{\"a\": }", 7, 0, &error));
    assert_int_equal(error.line, 1);
    assert_null(parsed_json("{", 1, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_fails),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
