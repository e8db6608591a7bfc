/* SPDX-License-Identifier: MIT */
#include "common/text/parsed_json.h"

#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* Where each call of malloc() is listed with its callers (tests/inject), that takes the time. */
static bool is_measured(void)
{
    return !getenv("MLAUNCH_TEST_FAIL");
}

static double processor_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The least of three tries: what one parse of that many bytes without an end takes. */
static double unended_takes(size_t size, const char *start, const char *element)
{
    size_t length = strlen(element), at = strlen(start);
    char *endless = malloc(size);
    double least = 1e9;

    assert_non_null(endless);
    for (size_t i = 0; i < size; i++) {
        if (i < at)
            endless[i] = start[i];
        else
            endless[i] = element[(i - at) % length];
    }
    at = size - (size - at) % length;
    for (int i = 0; i < 3; i++) {
        double began = processor_seconds();

        assert_null(parsed_json(endless, at, 0, NULL));
        if (processor_seconds() - began < least)
            least = processor_seconds() - began;
    }
    free(endless);
    return least;
}

/* What a stranger sends may cost no more than time in proportion to its length: 16 times as much
 * takes some 16 times as long, and took 256 times as long where each piece was looked for among
 * all. */
static void test_work_is_linear(void **state)
{
    enum { SIZE = 32 << 10, TIMES = 16 };
    static const struct {
        const char *start, *element;
    } texts[] = {{"[0", ",0"}, {"[\"\"", ",\"a\""}, {"[{}", ",{\"a\":1}"}, {"[[]", ",[[]]"}};

    (void)state;
#ifdef M_TRIM_THRESHOLD /* later tries find their memory there: new pages cost more than the work */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        double one = unended_takes(SIZE, texts[i].start, texts[i].element);
        double many = unended_takes(SIZE * TIMES, texts[i].start, texts[i].element);

        print_message("%s: %.4f s, %d times as much: %.4f s\n", texts[i].element, one, TIMES, many);
        assert_true(many < 5 * TIMES * one || !is_measured());
    }
}

/* What a rank or a host says may take a moment of the loop that reads it, however much it is. */
static void test_reported(void **state)
{
    static const char element[] = ",0", start[] = "[0";
    enum { SIZE = 32 << 20 };
    char *endless = malloc(SIZE);
    size_t at = sizeof(start) - 1;
    json_error_t error;
    json_t *value;
    double began;

    (void)state;
    assert_non_null(endless);
    for (size_t i = 0; i < SIZE; i++) {
        if (i < at)
            endless[i] = start[i];
        else
            endless[i] = element[(i - at) % 2];
    }
    at = SIZE - (SIZE - at) % 2;
    began = processor_seconds();
    assert_null(reported_json(endless, at, &error));
    assert_string_equal(error.text, "it is too long");
    assert_null(reported_json(endless, REPORTED_JSON_BYTES, &error));
    assert_string_equal(error.text, "it has too many values");
    /* All of it takes seconds. */
    assert_true(processor_seconds() - began < 0.5 || !is_measured());
    endless[2 * REPORTED_JSON_PIECES - 100] = ']';
    value = reported_json(endless, 2 * REPORTED_JSON_PIECES - 99, &error);
    assert_true(json_array_size(value) > REPORTED_JSON_PIECES - 100);
    json_decref(value);
    free(endless);
    assert_null(reported_json("{\"a\": 1, \"a\": 2}", 16, &error));
}

/* A list of `count` numbers, each of which takes a piece, as a stranger's. */
static json_t *list_of_stranger(int count)
{
    char list[1000] = "[0";

    for (int i = 1; i < count; i++)
        strcat(list, ",0");
    strcat(list, "]");
    return stranger_json(list, strlen(list));
}

static void test_stranger(void **state)
{
    json_t *list = list_of_stranger(STRANGER_JSON_PIECES / 2);

    (void)state;
    assert_int_equal(json_array_size(list), STRANGER_JSON_PIECES / 2);
    json_decref(list);
    assert_null(list_of_stranger(STRANGER_JSON_PIECES));
    assert_null(stranger_json("{\"a\": 1, \"a\": 2}", 16));
    assert_null(stranger_json("{", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_fails), cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_malformed),       cmocka_unit_test(test_work_is_linear),
        cmocka_unit_test(test_reported),        cmocka_unit_test(test_stranger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
