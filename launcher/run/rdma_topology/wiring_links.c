/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/wiring_links.h"

#include "launcher/run/rdma_topology/wiring_match.h"

#include <stdio.h>
#include <stdlib.h>

struct link_list {
    const struct wiring_facts *facts;
    struct wiring_link *links;
    struct wiring_rail *rails; /* the ports of each */
    size_t count, room;
};

static int list_grow(struct link_list *l, struct fault *why)
{
    size_t room = l->room ? l->room * 2 : 64;
    struct wiring_link *links = realloc(l->links, room * sizeof(*links));
    struct wiring_rail *rails;

    if (links)
        l->links = links;
    rails = realloc(l->rails, room * sizeof(*rails));
    if (rails)
        l->rails = rails;
    if (!links || !rails)
        return fault_set(why, ML_ERR_MEMORY, "out of memory"); /* the caller frees both */
    l->room = room;
    return 0;
}

static int link_add(struct link_list *l, struct wiring_end a, struct wiring_end b,
                    enum wiring_link_state state, struct fault *why)
{
    double x = wiring_end_port(l->facts, a)->gigabits, y = wiring_end_port(l->facts, b)->gigabits;
    struct wiring_link *link;

    if (l->count == l->room && list_grow(l, why))
        return ML_ERR_MEMORY;
    link = &l->links[l->count];
    *link = (struct wiring_link){
        .from = a.host, .to = b.host, .gigabits = x < y ? x : y, .state = state};
    wiring_end_words(l->facts, a, link->from_port);
    wiring_end_words(l->facts, b, link->to_port);
    l->rails[l->count++] = (struct wiring_rail){a, b};
    return 0;
}

static bool is_same(struct wiring_end a, struct wiring_end b)
{
    return a.host == b.host && a.device == b.device && a.port == b.port;
}

/* True if one of the two ports has a link of this pair already. `first`: the pair's first link. */
static bool is_taken(const struct link_list *l, size_t first, struct wiring_end a,
                     struct wiring_end b)
{
    for (size_t i = first; i < l->count; i++)
        if (is_same(l->rails[i].mine, a) || is_same(l->rails[i].mine, b) ||
            is_same(l->rails[i].theirs, a) || is_same(l->rails[i].theirs, b))
            return true;
    return false;
}

static bool state_of(const struct wiring_try *there, const struct wiring_try *back,
                     enum wiring_link_state *state)
{
    bool goes = there && there->carries, comes = back && back->carries;
    bool is_shared = (there && there->is_shared) || (back && back->is_shared);

    *state = goes && comes   ? WIRING_LINK_SLOW /* else it would be a rail */
             : goes || comes ? WIRING_LINK_ONE_WAY
                             : WIRING_LINK_SILENT;
    return goes || comes || is_shared;
}

/* The tries of host i that led to host j in that state, between ports without a better link. A try
 * that only j has made is found when the hosts are the other way round. */
static int tries_add(struct link_list *l, size_t first, int i, int j, enum wiring_link_state wanted,
                     struct fault *why)
{
    const struct wiring_host *h = &l->facts->hosts[i];
    int rc = 0;

    for (int d = 0; d < h->device_count; d++)
        for (int k = 0; k < h->devices[d].try_count && !rc; k++) {
            const struct wiring_try *there = &h->devices[d].tries[k], *back;
            struct wiring_end a = {i, d, there->port}, b = {j, there->device, there->peer_port};
            enum wiring_link_state state;

            if (there->host != j || is_taken(l, first, a, b))
                continue;
            back = wiring_end_try(l->facts, b, a);
            if (!state_of(there, back, &state) || state != wanted)
                continue;
            if (state == WIRING_LINK_ONE_WAY && !there->carries)
                rc = link_add(l, b, a, state, why);
            else
                rc = link_add(l, a, b, state, why);
        }
    return rc;
}

static int pair_add(struct link_list *l, int i, int j, struct fault *why)
{
    static const enum wiring_link_state others[] = {WIRING_LINK_SLOW, WIRING_LINK_ONE_WAY,
                                                    WIRING_LINK_SILENT};
    struct wiring_rail rails[RDMA_RAILS];
    struct fault ignored; /* that they have no link is what the picture shows */
    size_t first = l->count;
    int count = 0, host, rc = 0;

    if (wiring_match(l->facts, i, j, rails, &count, &host, &ignored))
        count = 0;
    for (int r = 0; r < count && !rc; r++)
        rc = link_add(l, rails[r].mine, rails[r].theirs, WIRING_LINK_GOOD, why);
    for (size_t s = 0; s < sizeof(others) / sizeof(*others) && !rc; s++) {
        rc = tries_add(l, first, i, j, others[s], why);
        if (!rc)
            rc = tries_add(l, first, j, i, others[s], why);
    }
    return rc;
}

/* A job waits for its slowest link. */
static void slow_mark(struct link_list *l)
{
    double fastest = 0;

    for (size_t i = 0; i < l->count; i++)
        if (l->links[i].gigabits > fastest)
            fastest = l->links[i].gigabits;
    for (size_t i = 0; i < l->count; i++)
        if (l->links[i].state == WIRING_LINK_GOOD && l->links[i].gigabits > 0 &&
            l->links[i].gigabits < fastest)
            l->links[i].state = WIRING_LINK_SLOW;
}

int wiring_links_find(const struct wiring_facts *f, struct wiring_link **out, size_t *count,
                      struct fault *why)
{
    struct link_list l = {.facts = f};
    int rc = 0;

    for (int i = 0; i < f->config.count && !rc; i++)
        for (int j = i + 1; j < f->config.count && !rc; j++)
            rc = pair_add(&l, i, j, why);
    slow_mark(&l);
    free(l.rails);
    if (rc) {
        free(l.links);
        return rc;
    }
    *out = l.links;
    *count = l.count;
    return 0;
}
