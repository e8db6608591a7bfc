/* SPDX-License-Identifier: MIT */
/* Compares the teams of groups, spread over hosts in many ways, with those that a plain search
 * finds. */
#include "runtime/group/group.h"
#include "runtime/steps/hierarchy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40 };

/* The place of `rank` among the ranks of its host. */
static int place_of(const int *host_of, int rank)
{
    int place = 0;

    for (int i = 0; i < rank; i++)
        place += host_of[i] == host_of[rank];
    return place;
}

/* Checks that m has the ranks from 0 to size - 1 for which `wanted` is `value`, in ascending
 * order. */
static void check_team(const struct team *m, const int *wanted, int value, int size)
{
    int n = 0;

    for (int i = 0; i < size; i++)
        if (wanted[i] == value)
            assert_int_equal(team_rank(m, n++), i);
    assert_int_equal(m->size, n);
}

static void check_rank(const int *host_of, int size, int rank, bool is_even)
{
    struct group g = {.size = size, .rank = rank, .host_of = (int *)(uintptr_t)host_of};
    int place[MOST], at = 0;
    struct hierarchy *h;
    struct fault why;

    for (int i = 0; i < size; i++)
        place[i] = place_of(host_of, i);
    assert_int_equal(hierarchy_find(&h, &g, &why), 0);
    assert_non_null(h);
    check_team(&h->local, host_of, host_of[rank], size);
    assert_int_equal(h->local.index, place[rank]);
    check_team(&h->leaders, place, 0, size);
    assert_int_equal(host_of[team_rank(&h->leaders, h->leaders.index)], host_of[rank]);
    assert_int_equal(h->is_even, is_even);
    for (int host = 0; host < h->leaders.size; host++) {
        assert_int_equal(h->first[host], at);
        for (; at < h->first[host + 1]; at++) {
            assert_int_equal(h->host_of[h->by_host[at]], host);
            assert_int_equal(place[h->by_host[at]], at - h->first[host]);
        }
    }
    assert_int_equal(at, size);
    if (is_even) {
        assert_int_equal(h->across.size, h->leaders.size);
        assert_int_equal(team_rank(&h->across, h->across.index), rank);
        for (int host = 0; host < h->across.size; host++) {
            assert_int_equal(h->host_of[team_rank(&h->across, host)], host);
            assert_int_equal(place[team_rank(&h->across, host)], place[rank]);
        }
    }
    free(h);
}

static void check_hosts(const int *host_of, int size, bool is_even)
{
    for (int rank = 0; rank < size; rank++)
        check_rank(host_of, size, rank, is_even);
}

static void test_teams(void **state)
{
    static const int blocks[] = {0, 0, 1, 1}, turns[] = {2, 0, 1, 2, 0, 1}, uneven[] = {5, 5, 5, 9},
                     back[] = {3, 1, 1, 3, 0, 3, 0}, sparse[] = {39, 2, 2, 39};

    (void)state;
    check_hosts(blocks, 4, true);
    check_hosts(turns, 6, true);
    check_hosts(uneven, 4, false);
    check_hosts(back, 7, false);
    check_hosts(sparse, 4, true);
}

static void test_random(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        int host_of[MOST], count[MOST] = {0}, size, hosts = 0, most = 0;

        seed = seed * 1103515245 + 12345;
        size = 3 + (int)(seed >> 16) % (MOST - 3);
        for (int i = 0; i < size; i++) {
            seed = seed * 1103515245 + 12345;
            host_of[i] = (int)(seed >> 16) % (1 + size / 3);
            hosts += count[host_of[i]]++ == 0;
            most = count[host_of[i]] > most ? count[host_of[i]] : most;
        }
        if (hosts > 1 && hosts < size)
            check_hosts(host_of, size, hosts * most == size);
    }
}

static void test_none(void **state)
{
    static const int one[] = {4, 4, 4}, each[] = {1, 0, 2};
    struct group g = {.size = 3, .host_of = (int *)(uintptr_t)one};
    struct hierarchy *h;
    struct fault why;

    (void)state;
    assert_int_equal(hierarchy_find(&h, &g, &why), 0);
    assert_null(h);
    g.host_of = (int *)(uintptr_t)each;
    assert_int_equal(hierarchy_find(&h, &g, &why), 0);
    assert_null(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_teams),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
