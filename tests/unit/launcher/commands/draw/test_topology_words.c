/* SPDX-License-Identifier: MIT */
/* test_topology_words.c: a ring of hosts is found where there is one, and only there. */
#include "launcher/commands/draw/topology_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS_MOST = 64, CABLES_MOST = 256 };

struct graph {
    struct topology_picture picture;
    struct topology_cable cables[CABLES_MOST];
    const char *names[HOSTS_MOST];
};

static void graph_begin(struct graph *g, int count)
{
    memset(g, 0, sizeof(*g));
    for (int i = 0; i < count; i++)
        g->names[i] = "host";
    g->picture = (struct topology_picture){.names = g->names, .count = count, .cables = g->cables};
}

static void graph_join(struct graph *g, int i, int j, enum topology_cable_state state)
{
    g->cables[g->picture.cable_count++] =
        (struct topology_cable){.from = i, .to = j, .state = state};
}

/* Fails unless the ring visits each host once over links that work. */
static bool has_ring(const struct graph *g)
{
    int order[HOSTS_MOST];
    bool seen[HOSTS_MOST] = {false};
    int count = g->picture.count;

    if (!topology_words_ring(&g->picture, order))
        return false;
    for (int i = 0; i < count; i++) {
        assert_in_range(order[i], 0, count - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        assert_true(topology_picture_joins(&g->picture, order[i], order[(i + 1) % count]));
    }
    return true;
}

static void test_small(void **state)
{
    struct graph g;

    (void)state;
    graph_begin(&g, 2);
    graph_join(&g, 0, 1, TOPOLOGY_CABLE_GOOD);
    assert_false(has_ring(&g)); /* two hosts are a pair */
    graph_begin(&g, 3);
    graph_join(&g, 0, 1, TOPOLOGY_CABLE_GOOD);
    graph_join(&g, 1, 2, TOPOLOGY_CABLE_SLOW);
    assert_false(has_ring(&g));
    graph_join(&g, 2, 0, TOPOLOGY_CABLE_ONE_WAY);
    assert_false(has_ring(&g));
    graph_join(&g, 0, 2, TOPOLOGY_CABLE_GOOD);
    assert_true(has_ring(&g));
}

static void test_large(void **state)
{
    struct graph g;

    (void)state;
    graph_begin(&g, 61); /* one ring, in steps of 7 */
    for (int i = 0; i < 61; i++)
        graph_join(&g, i, (i + 7) % 61, TOPOLOGY_CABLE_GOOD);
    assert_true(has_ring(&g));
    graph_begin(&g, 40); /* all at one host */
    for (int i = 1; i < 40; i++)
        graph_join(&g, 0, i, TOPOLOGY_CABLE_GOOD);
    assert_false(has_ring(&g));
}

/* The Petersen graph: ten hosts with three cables each, the smallest such that has no ring although
 * no cable or host is a bottleneck. */
static void test_petersen(void **state)
{
    struct graph g;

    (void)state;
    graph_begin(&g, 10);
    for (int i = 0; i < 5; i++) {
        graph_join(&g, i, (i + 1) % 5, TOPOLOGY_CABLE_GOOD);
        graph_join(&g, i, i + 5, TOPOLOGY_CABLE_GOOD);
        graph_join(&g, i + 5, (i + 2) % 5 + 5, TOPOLOGY_CABLE_GOOD);
    }
    assert_false(has_ring(&g));
    graph_join(&g, 0, 2, TOPOLOGY_CABLE_GOOD);
    assert_true(has_ring(&g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_petersen)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
