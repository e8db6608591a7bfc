/* SPDX-License-Identifier: MIT */
/*
 * reduce_leaders.c: each host's head reduces the vectors of its host, then they are reduced up a binomial tree of heads to the
 * root, which is the head of its host: as many messages between hosts as there are others. For short vectors.
 */
#include "runtime/collective/reduce.h"

#include "runtime/steps/leaders.h"

int reduce_leaders(struct group *g, const void *in, void *out, size_t size, int root,
                   struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.place, root), rc;
    size_t room = ((size_t)g->size * sizeof(int) + 63) & ~(size_t)63; /* for the heads */
    struct pipeline p;
    struct team heads;
    char *work, *sum;
    void *all;

    /* The heads; what comes from this host's ranks, and up the tree; this host's sum. */
    rc = pipeline_open(&p, g, h->local.size, &all, room + (size_t)(h->local.size + 1) * size, why);
    if (rc)
        return rc;
    heads = leaders_team(h, root, all);
    work = at(all, room);
    sum = g->rank == root ? out : work + (size_t)h->local.size * size;
    rc = leaders_reduce(&p, head, in, sum, size, work, why);
    if (!rc && g->rank == head)
        rc = reduce_tree(g, &heads, sum, out, size, h->host_of[root], work, why);
    return rc;
}
