/* SPDX-License-Identifier: MIT */
#include "runtime/hierarchy.h"

#include "runtime/group.h"

#include <stdlib.h>

/* Which one of its host's ranks it is. */
static int place_of(const struct group *g, int rank)
{
    int place = 0;

    for (int i = 0; i < rank; i++)
        place += g->host_of[i] == g->host_of[rank];
    return place;
}

/* Ranks a host, if they are equally many on all; else 0. */
static int ranks_a_host(const struct group *g)
{
    int hosts = 0, most = 0;

    for (int i = 0; i < g->size; i++) {
        int place = place_of(g, i);

        hosts += place == 0;
        most = place + 1 > most ? place + 1 : most;
    }
    return hosts > 1 && hosts * most == g->size ? most : 0;
}

int hierarchy_find(struct hierarchy **out, const struct group *g, struct fault *why)
{
    int locals = ranks_a_host(g), mine = place_of(g, g->rank), local = 0, across = 0;
    struct hierarchy *h;

    *out = NULL;
    if (locals < 2)
        return 0;
    h = calloc(1, sizeof(*h) + (size_t)(locals + g->size / locals) * sizeof(h->ranks[0]));
    if (!h)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    h->local = (struct team){.ranks = h->ranks, .size = locals, .place = mine};
    h->across = (struct team){.ranks = h->ranks + locals, .size = g->size / locals};
    for (int i = 0; i < g->size; i++) {
        if (i == g->rank)
            h->across.place = across;
        if (g->host_of[i] == g->host_of[g->rank])
            h->ranks[local++] = i;
        if (place_of(g, i) == mine)
            h->ranks[locals + across++] = i;
    }
    *out = h;
    return 0;
}
