/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_cables.h"

#include "launcher/run/rdma_topology/topology_match.h"

#include <stdio.h>
#include <stdlib.h>

struct cable_list {
    const struct topology_facts *facts;
    struct topology_cable *cables;
    struct topology_rail *rails; /* the ports of each */
    size_t count, room;
};

static int list_grow(struct cable_list *l, struct fault *why)
{
    size_t room = l->room ? l->room * 2 : 64;
    struct topology_cable *cables = realloc(l->cables, room * sizeof(*cables));
    struct topology_rail *rails;

    if (cables)
        l->cables = cables;
    rails = realloc(l->rails, room * sizeof(*rails));
    if (rails)
        l->rails = rails;
    if (!cables || !rails)
        return fault_set(why, ML_ERR_MEMORY, "out of memory"); /* the caller frees both */
    l->room = room;
    return 0;
}

static int cable_add(struct cable_list *l, struct topology_end a, struct topology_end b,
                     enum topology_cable_state state, struct fault *why)
{
    double x = topology_end_port(l->facts, a)->gigabits,
           y = topology_end_port(l->facts, b)->gigabits;
    struct topology_cable *cable;

    if (l->count == l->room && list_grow(l, why))
        return ML_ERR_MEMORY;
    cable = &l->cables[l->count];
    *cable = (struct topology_cable){
        .from = a.host, .to = b.host, .gigabits = x < y ? x : y, .state = state};
    topology_end_words(l->facts, a, cable->from_port);
    topology_end_words(l->facts, b, cable->to_port);
    l->rails[l->count++] = (struct topology_rail){a, b};
    return 0;
}

static bool is_same(struct topology_end a, struct topology_end b)
{
    return a.host == b.host && a.device == b.device && a.port == b.port;
}

/* True if one of the two ports has a link of this pair already. `first`: the pair's first link. */
static bool is_taken(const struct cable_list *l, size_t first, struct topology_end a,
                     struct topology_end b)
{
    for (size_t i = first; i < l->count; i++)
        if (is_same(l->rails[i].mine, a) || is_same(l->rails[i].mine, b) ||
            is_same(l->rails[i].theirs, a) || is_same(l->rails[i].theirs, b))
            return true;
    return false;
}

static bool state_of(const struct topology_try *there, const struct topology_try *back,
                     enum topology_cable_state *state)
{
    bool goes = there && there->carries, comes = back && back->carries;
    bool is_shared = (there && there->is_shared) || (back && back->is_shared);

    *state = goes && comes   ? TOPOLOGY_CABLE_SLOW /* else it would be a rail */
             : goes || comes ? TOPOLOGY_CABLE_ONE_WAY
                             : TOPOLOGY_CABLE_SILENT;
    return goes || comes || is_shared;
}

/* The tries of host i that led to host j in that state, between ports without a better link. A try
 * that only j has made is found when the hosts are the other way round. */
static int tries_add(struct cable_list *l, size_t first, int i, int j,
                     enum topology_cable_state wanted, struct fault *why)
{
    const struct topology_host *h = &l->facts->hosts[i];
    int rc = 0;

    for (int d = 0; d < h->device_count; d++)
        for (int k = 0; k < h->devices[d].try_count && !rc; k++) {
            const struct topology_try *there = &h->devices[d].tries[k], *back;
            struct topology_end a = {i, d, there->port}, b = {j, there->device, there->peer_port};
            enum topology_cable_state state;

            if (there->host != j || is_taken(l, first, a, b))
                continue;
            back = topology_end_try(l->facts, b, a);
            if (!state_of(there, back, &state) || state != wanted)
                continue;
            if (state == TOPOLOGY_CABLE_ONE_WAY && !there->carries)
                rc = cable_add(l, b, a, state, why);
            else
                rc = cable_add(l, a, b, state, why);
        }
    return rc;
}

static int pair_add(struct cable_list *l, int i, int j, struct fault *why)
{
    static const enum topology_cable_state others[] = {TOPOLOGY_CABLE_SLOW, TOPOLOGY_CABLE_ONE_WAY,
                                                       TOPOLOGY_CABLE_SILENT};
    struct topology_rail rails[RDMA_RAILS];
    struct fault ignored; /* that they have no link is what the picture shows */
    size_t first = l->count;
    int count = 0, host, rc = 0;

    if (topology_match(l->facts, i, j, rails, &count, &host, &ignored))
        count = 0;
    for (int r = 0; r < count && !rc; r++)
        rc = cable_add(l, rails[r].mine, rails[r].theirs, TOPOLOGY_CABLE_GOOD, why);
    for (size_t s = 0; s < sizeof(others) / sizeof(*others) && !rc; s++) {
        rc = tries_add(l, first, i, j, others[s], why);
        if (!rc)
            rc = tries_add(l, first, j, i, others[s], why);
    }
    return rc;
}

/* A job waits for its slowest link. */
static void slow_mark(struct cable_list *l)
{
    double fastest = 0;

    for (size_t i = 0; i < l->count; i++)
        if (l->cables[i].gigabits > fastest)
            fastest = l->cables[i].gigabits;
    for (size_t i = 0; i < l->count; i++)
        if (l->cables[i].state == TOPOLOGY_CABLE_GOOD && l->cables[i].gigabits > 0 &&
            l->cables[i].gigabits < fastest)
            l->cables[i].state = TOPOLOGY_CABLE_SLOW;
}

int topology_cables_find(const struct topology_facts *f, struct topology_cable **out, size_t *count,
                         struct fault *why)
{
    struct cable_list l = {.facts = f};
    int rc = 0;

    for (int i = 0; i < f->config.count && !rc; i++)
        for (int j = i + 1; j < f->config.count && !rc; j++)
            rc = pair_add(&l, i, j, why);
    slow_mark(&l);
    free(l.rails);
    if (rc) {
        free(l.cables);
        return rc;
    }
    *out = l.cables;
    *count = l.count;
    return 0;
}
