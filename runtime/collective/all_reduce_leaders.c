/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_leaders.c: the ranks of a host hand their vectors to its leader, the leaders double theirs, and hand
 * out the result: for short vectors, whose messages between hosts cost more than their bytes. (Thakur et al. 2005 for the
 * doubling; H. Zhu et al., "Hierarchical Collectives in MPICH2", 2009, for one rank a node.)
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/leaders.h"

int all_reduce_leaders(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.place, -1), rc;
    struct pipeline p;
    void *work;

    rc = pipeline_open(&p, g, h->local.size, &work,
                       (size_t)(h->local.size > 2 ? h->local.size : 2) * size, why);
    if (!rc)
        rc = leaders_reduce(&p, head, in, out, size, work, why);
    if (!rc && g->rank == head)
        rc = doubling_run(g, &h->leaders, out, out, size, work, why);
    return rc ? rc : leaders_spread(&p, head, out, size, why);
}
