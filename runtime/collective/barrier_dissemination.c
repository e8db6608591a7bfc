/* SPDX-License-Identifier: MIT */
/*
 * barrier_dissemination.c: in round k every rank tells the one 2^k behind it and hears from the
 * one 2^k before it; after log2(size) rounds each has heard, by way of others, from all. D.
 * Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", 1988.
 */
#include "runtime/collective/barrier.h"

#include "runtime/steps/steps.h"

int barrier_dissemination(struct group *g, const struct team *m, struct fault *why)
{
    int rc = 0;

    for (int distance = 1; !rc && distance < m->size; distance *= 2) {
        struct transfer t[] = {
            send_to(team_rank(m, team_after(m, distance)), NULL, 0),
            recv_from(team_rank(m, team_after(m, -distance)), NULL, 0),
        };

        rc = transfer_run(g, t, 2, why);
    }
    return rc;
}
