/* SPDX-License-Identifier: MIT */
/* test_deadlock.c: which waits make a circle, and which do not. */
#include "launcher/run/stacks/deadlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* The ranks in the circle, in order, of ranks 0, 1, … that wait as the JSON texts say; "" is none,
 * NULL ends them. */
static void expect(const char *const *waits, const char *circle)
{
    struct deadlock_rank ranks[RANKS] = {{0}};
    size_t found[RANKS], count = 0, length;
    json_t *lists[RANKS];
    char text[RANKS * 2 + 1] = "";

    for (; waits[count]; count++) {
        lists[count] = json_loads(*waits[count] ? waits[count] : "[]", 0, NULL);
        assert_non_null(lists[count]);
        ranks[count] = (struct deadlock_rank){(long long)count, lists[count]};
    }
    length = deadlock_find(ranks, count, found);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('0' + ranks[found[i]].rank);
    assert_string_equal(text, circle);
    for (size_t i = 0; i < count; i++)
        json_decref(lists[i]);
}
#define EXPECT(circle, ...) expect((const char *const[]){__VA_ARGS__, NULL}, circle)

#define WAIT(group, call, from, to)                                                                \
    "{\"group\": " #group ", \"call\": " #call ", \"receives_from\": " from ", \"sends_to\": " to  \
    "}"
#define RECV(rank)                 "[" WAIT(0, 0, "[" #rank "]", "[]") "]"
#define SEND(rank)                 "[" WAIT(0, 0, "[]", "[" #rank "]") "]"
#define BARRIER(group, call, rank) "[" WAIT(group, call, "[" #rank "]", "[]") "]"

static void test_messages(void **state)
{
    (void)state;
    EXPECT("01", RECV(1), RECV(0));
    EXPECT("01", SEND(1), SEND(0));
    EXPECT("012", RECV(1), RECV(2), RECV(0));
    EXPECT("12", RECV(1), RECV(2), RECV(1));
    EXPECT("", RECV(1), RECV(2), "");
    EXPECT("", RECV(1), SEND(0)); /* they have met: the network is slow */
    EXPECT("0", RECV(0));
    EXPECT("", RECV(7), RECV(-1));
}

static void test_collective_calls(void **state)
{
    (void)state;
    EXPECT("01", BARRIER(0, 1, 1), RECV(0));
    EXPECT("", BARRIER(0, 1, 1), BARRIER(0, 1, 0));
    EXPECT("01", BARRIER(0, 1, 1), BARRIER(3, 1, 0));
}

/* A rank that waits in two groups has two threads, and either may help the others. */
static void test_threads(void **state)
{
    (void)state;
    EXPECT("", RECV(1), "[" WAIT(0, 0, "[0]", "[]") "," WAIT(1, 1, "[0]", "[]") "]");
}

static void test_malformed(void **state)
{
    (void)state;
    EXPECT("", "{}", "[1]", "[{\"receives_from\": {}, \"sends_to\": [\"0\", null, 1.5]}]");
    EXPECT("0", "[{\"sends_to\": [\"0\", 0]}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_collective_calls),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
