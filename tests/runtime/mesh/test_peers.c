/* SPDX-License-Identifier: MIT */
/* With many ranks, each exchanges messages with few of them in every call that could do without all
 * to all, and the results are right.
 * TEST_TIER=full */
#include "tests/runtime/mesh/mesh_cases.h"
#include "tests/runtime/mesh/thread_mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const enum case_call calls[] = {
    CASE_ALL_REDUCE, CASE_REDUCE_SCATTER, CASE_REDUCE,    CASE_SCAN,    CASE_EXCLUSIVE_SCAN,
    CASE_ALL_GATHER, CASE_ALL_GATHER_V,   CASE_BROADCAST, CASE_BARRIER,
};

static void call_count(const struct subject *s, const struct collective_case *c, int most,
                       int *failures)
{
    int peers;

    mesh_count(case_run(s, c), failures);
    peers = mesh_peers(s);
    if (peers <= most)
        return;
    fprintf(stderr, "%d ranks, call %d, %zu: rank %d had %d peers, not %d\n", s->size, c->call,
            c->count, s->rank, peers, most);
    ++*failures;
}

static int peers_most(int ranks)
{
    int log2 = 0;

    while (1 << log2 < ranks)
        log2++;
    return 2 * log2 + 4;
}

static void count_all(const struct subject *s, int *failures)
{
    static const size_t counts[] = {1, 900, 40000};

    mesh_peers(s);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int kind = 0; kind < (calls[i] <= CASE_EXCLUSIVE_SCAN ? 3 : 1); kind++) {
                struct collective_case c = {.call = calls[i],
                                            .type = ML_INT64,
                                            .op = ML_SUM,
                                            .count = counts[n] / (kind ? 4 : 1),
                                            .root = s->size / 3,
                                            .place = n == 1 ? PLACE_SAME : PLACE_APART,
                                            .element = kind ? 24 : 0,
                                            .is_commutative = kind == 1};

                call_count(s, &c, peers_most(s->size), failures);
            }
}

static void test_peers(void **state)
{
    static const int few[] = {17, 0}, all[] = {17, 32, 61, 64, 0};

    (void)state;
    mesh_check("", getenv("MLAUNCH_TEST_LONG") ? all : few, count_all);
}

/* Hosts of two ranks: a rank may also exchange messages with all ranks of its host. */
static void test_peers_of_hosts(void **state)
{
    static const int few[] = {34, 0}, all[] = {34, 64, 0};

    (void)state;
    mesh_check("all_reduce:hierarchical@1..1", getenv("MLAUNCH_TEST_LONG") ? all : few, count_all);
}

/* All sizes from 17 ranks on, with long vectors that have several chunks. */
static void test_sizes(void **state)
{
    static const int few[] = {18, 0}, all[] = {17, 18, 23, 31, 33, 0};
    const int *sizes = getenv("MLAUNCH_TEST_LONG") ? all : few;

    (void)state;
    mesh_check("", sizes, mesh_movements);
    mesh_check("", sizes, mesh_random);
    if (getenv("MLAUNCH_TEST_LONG"))
        mesh_check("", sizes, mesh_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_peers_of_hosts),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
