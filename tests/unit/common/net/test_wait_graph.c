/* SPDX-License-Identifier: MIT */
/* test_wait_graph.c: which ranks a call waits for, and which waits make a circle. */
#include "common/net/wait_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 8 };

#define COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define WAITS(rank, group, call, ...)                                                              \
    {                                                                                              \
        rank, group, call, (int[]){__VA_ARGS__}, COUNT(__VA_ARGS__), COUNT(__VA_ARGS__)            \
    }
#define RECV(rank, from) WAITS(rank, 0, 0, from)
#define SEND(rank, to)                                                                             \
    {                                                                                              \
        rank, 0, 0, (int[]){to}, 1, 0                                                              \
    }
#define EACH(...)     (const struct wait[]){__VA_ARGS__}, COUNT_OF(__VA_ARGS__)
#define COUNT_OF(...) (sizeof((const struct wait[]){__VA_ARGS__}) / sizeof(struct wait))

static void text_make(char *out, const int *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *out++ = (char)('0' + ranks[i]);
    *out = '\0';
}

static void expect_circle(const char *expected, const struct wait *waits, size_t count)
{
    int circle[RANKS];
    char text[RANKS + 1];

    text_make(text, circle, wait_graph_circle(waits, count, circle));
    assert_string_equal(text, expected);
}
#define CIRCLE(expected, ...) expect_circle(expected, EACH(__VA_ARGS__))

static void test_messages(void **state)
{
    (void)state;
    CIRCLE("01", RECV(0, 1), RECV(1, 0));
    CIRCLE("01", SEND(0, 1), SEND(1, 0));
    CIRCLE("012", RECV(0, 1), RECV(1, 2), RECV(2, 0));
    CIRCLE("12", RECV(0, 1), RECV(1, 2), RECV(2, 1));
    CIRCLE("", RECV(0, 1), RECV(1, 2));
    CIRCLE("", RECV(0, 1), SEND(1, 0)); /* they have met: the network is slow */
    CIRCLE("0", RECV(0, 0));
    CIRCLE("", RECV(0, 7), RECV(1, -1));
}

static void test_collective_calls(void **state)
{
    (void)state;
    CIRCLE("01", WAITS(0, 0, 1, 1), RECV(1, 0));
    CIRCLE("", WAITS(0, 0, 1, 1), WAITS(1, 0, 1, 0));
    CIRCLE("01", WAITS(0, 0, 1, 1), WAITS(1, 3, 1, 0));
}

/* A rank that waits in two groups has two threads, and either may help the others. */
static void test_threads(void **state)
{
    (void)state;
    CIRCLE("", RECV(0, 1), RECV(1, 0), WAITS(1, 1, 1, 0));
}

/* The ranks in the first one's call, and those that they wait for, among the members 3, 2, 1, 0. */
static void expect_call(const char *present, const char *absent, const struct wait *waits,
                        size_t count)
{
    static const int members[] = {3, 2, 1, 0};
    char text[RANKS + 1];
    struct wait_call call;

    assert_int_equal(wait_graph_call(&call, waits, count, 0, members, 4), 0);
    text_make(text, call.present, call.present_count);
    assert_string_equal(text, present);
    text_make(text, call.absent, call.absent_count);
    assert_string_equal(text, absent);
    free(call.present);
}
#define CALL(present, absent, ...) expect_call(present, absent, EACH(__VA_ARGS__))

static void test_call(void **state)
{
    (void)state;
    CALL("02", "3", WAITS(2, 0, 5, 3, 0), RECV(1, 0), WAITS(0, 0, 5, 2, 3));
    CALL("0", "1", WAITS(0, 0, 5, 1), WAITS(1, 0, 6, 0)); /* another call */
    CALL("0", "1", WAITS(0, 0, 5, 1), WAITS(1, 2, 5, 0)); /* another group */
    CALL("01", "", WAITS(0, 0, 5, 1), WAITS(1, 0, 5, 0)); /* 2 and 3 may have left the call */
    CALL("1", "023", {1, 0, 5, NULL, 0, 0});              /* nobody is named */
    CALL("0", "02", WAITS(0, 0, 0, 2, 0), RECV(2, 0));    /* a message is its rank's alone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_collective_calls),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
