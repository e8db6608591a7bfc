/* SPDX-License-Identifier: MIT */
/* test_output_fold.c: what several ranks write alike is shown once, and nothing is lost. */
#include "launcher/run/stdio/output_fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 16 };

static char shown[8 * OUTPUT_FOLD_MAX];

static void show(int rank, const char *bytes, size_t size, void *arg)
{
    size_t at = strlen(shown);

    (void)arg;
    snprintf(shown + at, sizeof(shown) - at, "%d<%.*s>", rank, (int)size, bytes);
}

static void say(const char *ranks, int same_as, void *arg)
{
    size_t at = strlen(shown);

    (void)arg;
    snprintf(shown + at, sizeof(shown) - at, "(%s as %d)", ranks, same_as);
}

static struct output_fold *begun(int failed)
{
    struct output_fold *f = output_fold_create(RANKS, show, NULL);

    assert_non_null(f);
    shown[0] = '\0';
    output_fold_begin(f, failed);
    return f;
}

static void write_all(struct output_fold *f, int rank, const char *text)
{
    assert_true(output_fold_hold(f, rank, text, strlen(text)));
    assert_false(output_fold_hold(f, rank, NULL, 0));
}

static void finish(struct output_fold *f, const char *expected)
{
    output_fold_end(f, say, NULL);
    assert_string_equal(shown, expected);
    output_fold_destroy(f);
}

static void test_alike(void **state)
{
    struct output_fold *f = begun(1);

    (void)state;
    assert_false(output_fold_hold(f, 1, "own", 3)); /* the rank that failed */
    write_all(f, 3, "line 12: rank 3 at 0x7f00: lost rank 1\n");
    write_all(f, 12, "line 12: rank 12 at 0x55aabb: lost rank 1\n");
    write_all(f, 0, "line 12: rank 0 at 0x1: lost rank 1\n");
    write_all(f, 2, "line 13: rank 2 at 0x7f00: lost rank 1\n"); /* another line */
    write_all(f, 4, "line 12: rank 5 at 0x7f00: lost rank 1\n"); /* another rank's number */
    write_all(f, 5, "line 12: rank 5 at 0x7f00: lost rank 1");   /* no newline */
    write_all(f, 6, "line 13: rank 6 at 0x7f00: lost rank 1\n");
    assert_false(output_fold_hold(f, 7, NULL, 0)); /* nothing at all */
    finish(f, "3<line 12: rank 3 at 0x7f00: lost rank 1\n>"
              "2<line 13: rank 2 at 0x7f00: lost rank 1\n>"
              "4<line 12: rank 5 at 0x7f00: lost rank 1\n>"
              "5<line 12: rank 5 at 0x7f00: lost rank 1>"
              "(ranks 0,12 as 3)(rank 6 as 2)");
}

/* Pieces of a line, a text that becomes too long, and one whose time is over. */
static void test_release(void **state)
{
    struct output_fold *f = begun(-1);
    char *large = malloc(OUTPUT_FOLD_MAX);

    (void)state;
    memset(large, 'x', OUTPUT_FOLD_MAX);
    assert_true(output_fold_hold(f, 0, "a", 1));
    assert_true(output_fold_hold(f, 0, "b", 1));
    assert_string_equal(shown, "");
    assert_false(output_fold_hold(f, 0, large, OUTPUT_FOLD_MAX));
    assert_string_equal(shown, "0<ab>");
    assert_false(output_fold_hold(f, 0, "c", 1)); /* it is too late for this rank */
    assert_true(output_fold_hold(f, 1, large, OUTPUT_FOLD_MAX));
    assert_false(output_fold_hold(f, 1, NULL, 0));
    shown[0] = '\0';
    assert_true(output_fold_hold(f, 2, "d", 1));
    output_fold_release(f);
    assert_string_equal(shown, "2<d>");
    assert_false(output_fold_hold(f, 3, "e", 1));
    finish(f, "2<d>");
    free(large);
}

/* More texts than are remembered; and nothing is held back without a failure. */
static void test_many(void **state)
{
    struct output_fold *f = begun(-1);
    char text[32];

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        snprintf(text, sizeof(text), "%c", 'a' + i);
        write_all(f, i, text);
    }
    output_fold_end(f, say, NULL);
    assert_int_equal(strlen(shown), 10 * 4 + 6 * 5);
    assert_false(output_fold_hold(f, 0, "x", 1));
    shown[0] = '\0';
    output_fold_begin(f, -1);
    assert_true(output_fold_hold(f, 0, "x", 1));
    finish(f, "0<x>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alike), cmocka_unit_test(test_release),
                                       cmocka_unit_test(test_many)};

    return cmocka_run_group_tests_name("output_fold", tests, NULL, NULL);
}
