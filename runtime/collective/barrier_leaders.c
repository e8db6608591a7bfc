/* SPDX-License-Identifier: MIT */
/*
 * barrier_leaders.c: the ranks of a host tell its leader that they have come, the leaders meet, and tell theirs. As
 * barriers that know of shared memory are built: R. Graham et al., "Cheetah: A Framework for Scalable Hierarchical
 * Collective Operations", 2011.
 */
#include "runtime/collective/barrier.h"

#include "runtime/steps/leaders.h"

int barrier_leaders(struct group *g, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.place, -1), n = 0, rc;
    struct pipeline p;

    rc = pipeline_open(&p, g, h->local.size + 1, NULL, 0, why);
    if (rc)
        return rc;
    if (g->rank != head) {
        p.t[n++] = send_to(head, NULL, 0);
        p.t[n++] = recv_from(head, NULL, 0);
        return transfer_run(g, p.t, n, why);
    }
    for (int i = 1; i < h->local.size; i++)
        p.t[n++] = recv_from(h->local.ranks[i], NULL, 0);
    rc = transfer_run(g, p.t, n, why);
    if (!rc)
        rc = barrier_dissemination(g, &h->leaders, why);
    return rc ? rc : leaders_spread(&p, head, NULL, 0, why);
}
