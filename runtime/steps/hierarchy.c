/* SPDX-License-Identifier: MIT */
#include "runtime/steps/hierarchy.h"

#include "runtime/group/group.h"

#include <stdlib.h>
#include <string.h>

/* Stores each rank's host in host_of, and numbers hosts in the order of their first ranks. Returns
 * how many there are. number: one for each value of g->host_of, all 0. */
static int hosts_number(const struct group *g, int *host_of, int *number)
{
    int hosts = 0;

    for (int i = 0; i < g->size; i++) {
        int *n = &number[g->host_of[i]];

        if (!*n)
            *n = ++hosts;
        host_of[i] = *n - 1;
    }
    return hosts;
}

/* Fills in first and by_host by a counting sort. next: room for one number a host. */
static void ranks_sort(int size, int hosts, const int *host_of, int *first, int *by_host, int *next)
{
    memset(first, 0, ((size_t)hosts + 1) * sizeof(*first));
    for (int i = 0; i < size; i++)
        first[host_of[i] + 1]++;
    for (int h = 0; h < hosts; h++)
        first[h + 1] += first[h];
    memcpy(next, first, (size_t)hosts * sizeof(*next));
    for (int i = 0; i < size; i++)
        by_host[next[host_of[i]]++] = i;
}

static void teams_make(struct hierarchy *h, const struct group *g, int hosts, int *leaders,
                       int *across)
{
    int mine = h->host_of[g->rank], most = 0;

    h->local = (struct team){.ranks = h->by_host + h->first[mine],
                             .size = h->first[mine + 1] - h->first[mine]};
    while (h->local.ranks[h->local.index] != g->rank)
        h->local.index++;
    for (int i = 0; i < hosts; i++) {
        int size = h->first[i + 1] - h->first[i];

        most = size > most ? size : most;
        leaders[i] = h->by_host[h->first[i]];
    }
    h->leaders = (struct team){.ranks = leaders, .size = hosts, .index = mine};
    h->is_even = most * hosts == g->size;
    if (!h->is_even)
        return;
    for (int i = 0; i < hosts; i++)
        across[i] = h->by_host[h->first[i] + h->local.index];
    h->across = (struct team){.ranks = across, .size = hosts, .index = mine};
}

int hierarchy_find(struct hierarchy **out, const struct group *g, struct fault *why)
{
    int numbers = 0, hosts, *host_of, *by_host, *first, *rest;
    struct hierarchy *h;

    *out = NULL;
    for (int i = 0; i < g->size; i++)
        numbers = g->host_of[i] >= numbers ? g->host_of[i] + 1 : numbers;
    /* In one block: host_of, by_host, first; then `number`, whose place leaders and across take. */
    h = calloc(1, sizeof(*h) + (size_t)(5 * g->size + 1 + numbers) * sizeof(h->ranks[0]));
    if (!h)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    host_of = h->ranks;
    by_host = host_of + g->size;
    first = by_host + g->size;
    rest = first + g->size + 1;
    hosts = hosts_number(g, host_of, rest);
    if (hosts == 1 || hosts == g->size) {
        free(h);
        return 0;
    }
    ranks_sort(g->size, hosts, host_of, first, by_host, rest);
    h->host_of = host_of;
    h->by_host = by_host;
    h->first = first;
    teams_make(h, g, hosts, rest, rest + hosts);
    *out = h;
    return 0;
}

struct team team_ring(const struct group *g)
{
    const struct hierarchy *h = g->hierarchy;

    if (!h)
        return (struct team){.size = g->size, .index = g->rank};
    return (struct team){
        .ranks = h->by_host, .size = g->size, .index = h->first[h->leaders.index] + h->local.index};
}
