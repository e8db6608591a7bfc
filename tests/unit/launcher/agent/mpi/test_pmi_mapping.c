/* SPDX-License-Identifier: MIT */
/* test_pmi_mapping.c: read as MPICH reads it, the mapping gives each rank its host. */
#include "launcher/agent/mpi/pmi_mapping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MOST = 1024 };

static void gives(const int *host_of, int ranks, const char *expected)
{
    char text[600];

    assert_true(pmi_mapping_format(text, sizeof(text), host_of, ranks));
    assert_string_equal(text, expected);
}

static void test_shapes(void **state)
{
    (void)state;
    gives((int[]){0}, 1, "(vector,(0,1,1))");
    gives((int[]){0, 0, 0}, 3, "(vector,(0,1,3))");
    gives((int[]){0, 0, 1, 1}, 4, "(vector,(0,2,2))");
    gives((int[]){0, 0, 1}, 3, "(vector,(0,1,2),(1,1,1))");
    gives((int[]){0, 1, 0, 1, 0}, 5, "(vector,(0,2,1))");
    gives((int[]){0, 1, 2, 0}, 4, "(vector,(0,3,1))");
    gives((int[]){0, 1, 2, 0, 0}, 5, "(vector,(0,3,1),(0,1,2))");
    gives((int[]){0, 2, 1, 1}, 4, "(vector,(0,1,1),(2,1,1),(1,1,2))");
}

/* MPICH's way: block after block, and again from the first one, until each rank has a host. */
static void expand(const char *text, int *host_of, int ranks)
{
    const char *first = strchr(text, '('), *at = NULL;
    int rank = 0, host, hosts, each;

    first = strchr(first + 1, '(');
    while (rank < ranks) {
        at = at ? strchr(at + 1, '(') : NULL;
        at = at ? at : first;
        assert_int_equal(sscanf(at, "(%d,%d,%d)", &host, &hosts, &each), 3);
        for (int i = 0; i < hosts; i++) {
            for (int j = 0; j < each && rank < ranks; j++)
                host_of[rank++] = host + i;
        }
    }
}

static void test_any(void **state)
{
    static int host_of[RANKS_MOST], back[RANKS_MOST];
    char text[600], *large = malloc(64 << 10);
    int whole = 0;

    (void)state;
    assert_non_null(large);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        int ranks = 1 + rand() % 64, hosts = 1 + rand() % 6, kind = rand() % 3;

        for (int i = 0; i < ranks; i++)
            host_of[i] = i == 0      ? 0
                         : kind == 0 ? rand() % hosts
                         : kind == 1 ? i % hosts
                                     : i * hosts / ranks;
        assert_true(pmi_mapping_format(large, 64 << 10, host_of, ranks));
        expand(large, back, ranks);
        assert_memory_equal(back, host_of, (size_t)ranks * sizeof(int));
        whole += pmi_mapping_format(text, sizeof(text), host_of, ranks);
    }
    assert_true(whole > 1000);
    for (int i = 0; i < RANKS_MOST; i++)
        host_of[i] = i * 7 % 5;
    assert_false(pmi_mapping_format(text, sizeof(text), host_of, RANKS_MOST));
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
