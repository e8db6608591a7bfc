/* SPDX-License-Identifier: MIT */
/* MLAUNCH_ALGO as the table takes it: what is refused, and which algorithm a size has. */
#include "runtime/steps/algorithm_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void check_refused(const char *algorithms, const char *part)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct fault why = {0};
        struct group g = {.size = 2};
        enum algorithm a;

        setenv("MLAUNCH_ALGO", algorithms, 1);
        if (algorithm_read(&why) != ML_ERR_ARGUMENT || !strstr(why.text, part) ||
            algorithm_choose(CALL_BROADCAST, 1, &g, &a, NULL) != ML_ERR_ARGUMENT) {
            fprintf(stderr, "'%s': %s\n", algorithms, why.text);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_refused(void **state)
{
    (void)state;
    check_refused("all_reduce:rign", "all_reduce has no algorithm 'rign'; it has: chain, "
                                     "direct, doubling, flat, hierarchical, leaders, ring, "
                                     "shared, shared-flat");
    check_refused("all_reduce:bruck", "all_reduce has no algorithm 'bruck'");
    check_refused("all_reduce:ring,gather:ring", "'gather:ring' is not CALL:ALGORITHM");
    check_refused("barrier:ring",
                  "barrier has no algorithm 'ring'; it has: dissemination, leaders");
    check_refused("ring", "'ring' is not CALL:ALGORITHM");
    check_refused("all_reduce:ring,", "'' is not CALL:ALGORITHM");
    check_refused("all_reduce:", "has no algorithm ''");
    check_refused("all_reduce:ring,flat,@8..", "has no algorithm ''");
    check_refused("all_reduce:ring@", "'all_reduce:ring@' does not end in a range of sizes");
    check_refused("all_reduce:ring@..", "does not end in a range");
    check_refused("all_reduce:ring@8", "does not end in a range");
    check_refused("all_reduce:ring@9..8", "does not end in a range");
    check_refused("all_reduce:ring@-1..8", "does not end in a range");
    check_refused("all_reduce:ring@8x..", "does not end in a range");
    check_refused("all_reduce:ring@..9999999999G", "does not end in a range");
    check_refused("all_reduce@8..:ring", "'all_reduce@8..:ring' is not CALL:ALGORITHM");
    check_refused("ring@8..,all_reduce:ring", "'ring@8..' is not CALL:ALGORITHM");
}

/* Many items, of which the last is one too many. */
static void test_limit(void **state)
{
    char text[2048] = "all_reduce:ring";

    (void)state;
    for (int i = 0; i < 128; i++)
        strcat(text, ",ring@1..2");
    check_refused(text, "more than 128 items");
}

/* The algorithm of a call, with MLAUNCH_ALGO read anew. */
static enum algorithm chosen(const char *algorithms, enum call_kind kind, size_t bytes)
{
    struct group g = {.size = 3, .uses_tcp = true};
    enum algorithm a = ALGORITHMS;

    setenv("MLAUNCH_ALGO", algorithms, 1);
    assert_int_equal(algorithm_read(NULL), 0);
    assert_int_equal(algorithm_choose(kind, bytes, &g, &a, NULL), 0);
    return a;
}

static void test_sizes(void **state)
{
    static const char by_size[] = "all_reduce:shared,doubling@..4096,ring@32k..1M,broadcast:"
                                  "scatter@1..1,all_reduce:direct@2M..";
    uint8_t sum[ALGORITHM_SUM];

    (void)state;
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 0), ALGORITHM_DOUBLING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 4096), ALGORITHM_DOUBLING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 32768), ALGORITHM_RING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 1 << 20), ALGORITHM_RING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, (1 << 20) + 1), ALGORITHM_FLAT); /* table */
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, (size_t)1 << 40), ALGORITHM_DIRECT);
    assert_int_equal(chosen(by_size, CALL_BROADCAST, 1), ALGORITHM_SCATTER);
    assert_int_equal(chosen(by_size, CALL_BROADCAST, 0), ALGORITHM_BINOMIAL);
    /* The first that fits decides. */
    assert_int_equal(chosen("all_reduce:flat@..8,ring,direct", CALL_ALL_REDUCE, 8), ALGORITHM_FLAT);
    assert_int_equal(chosen("all_reduce:flat@..8,ring,direct", CALL_ALL_REDUCE, 9), ALGORITHM_RING);

    chosen("all_reduce:ring", CALL_ALL_REDUCE, 8);
    memcpy(sum, algorithm_sum(), sizeof(sum));
    chosen("all_reduce:flat", CALL_ALL_REDUCE, 8);
    assert_memory_not_equal(sum, algorithm_sum(), sizeof(sum));
    chosen("all_reduce:ring", CALL_ALL_REDUCE, 8);
    assert_memory_equal(sum, algorithm_sum(), sizeof(sum));
    unsetenv("MLAUNCH_ALGO");
    assert_int_equal(algorithm_read(NULL), 0);
}

/* With many ranks nothing is chosen that connects all to all, also if the order of operands
 * matters. */
static void test_many(void **state)
{
    static const enum call_kind kinds[] = {CALL_ALL_REDUCE, CALL_REDUCE_SCATTER, CALL_REDUCE,
                                           CALL_ALL_GATHER, CALL_BROADCAST,      CALL_BARRIER};
    struct combiner combiner = {.with = {.is_commutative = 0}};
    struct group g = {.size = ALGORITHM_FEW + 1, .uses_tcp = true};
    enum algorithm a;

    (void)state;
    for (int i = 0; i < 6 * 64 * 2; i++) {
        enum call_kind kind = kinds[i % 6];

        g.call.combiner = i / 6 / 64 && kind <= CALL_REDUCE ? &combiner : NULL;
        assert_int_equal(algorithm_choose(kind, (size_t)1 << (i / 6 % 64), &g, &a, NULL), 0);
        assert_true(a != ALGORITHM_FLAT && a != ALGORITHM_DIRECT && a != ALGORITHM_SCATTER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
