/* SPDX-License-Identifier: MIT */
/* barrier.c: one round on the board (shm_coll.h) where all members share memory, else messages. */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/leaders.h"
#include "runtime/steps/steps.h"
#include "runtime/transport/shm_coll.h"

/* --- dissemination -----------------------------------------------------------------------------
 * In round k every rank signals the one 2^k behind it and waits for the one 2^k before it. After
 * log2(size) rounds each has heard from all others, most of them indirectly. D. Hensgen, R. Finkel,
 * U. Manber, "Two Algorithms for Barrier Synchronization", 1988.
 */

static int barrier_dissemination(struct group *g, const struct team *m, struct fault *why)
{
    int rc = 0;

    for (int distance = 1; !rc && distance < m->size; distance *= 2) {
        struct message_op t[] = {
            send_to(team_rank(m, team_after(m, distance)), NULL, 0),
            recv_from(team_rank(m, team_after(m, -distance)), NULL, 0),
        };

        rc = message_op_run(g, t, 2, why);
    }
    return rc;
}

/* --- leaders -----------------------------------------------------------------------------------
 * The ranks of a host report to its leader, the leaders hold a barrier among themselves, and each
 * releases the ranks of its host. Only where g->hierarchy is set. R. Graham et al., "Cheetah: A
 * Framework for Scalable Hierarchical Collective Operations", 2011, build barriers so.
 */

static int barrier_leaders(struct group *g, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.index, -1), n = 0, rc;
    struct pipeline p;

    rc = pipeline_open(&p, g, h->local.size + 1, NULL, 0, why);
    if (rc)
        return rc;
    if (g->rank != head) {
        p.t[n++] = send_to(head, NULL, 0);
        p.t[n++] = recv_from(head, NULL, 0);
        return message_op_run(g, p.t, n, why);
    }
    for (int i = 1; i < h->local.size; i++)
        p.t[n++] = recv_from(h->local.ranks[i], NULL, 0);
    rc = message_op_run(g, p.t, n, why);
    if (!rc)
        rc = barrier_dissemination(g, &h->leaders, why);
    return rc ? rc : leaders_spread(&p, head, NULL, 0, why);
}

int barrier_run(struct group *g, struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    enum algorithm algorithm;
    int rc;

    if (g->shared.coll)
        return shm_coll_begin(g->shared.coll, NULL, 0, why);
    if (g->size == 1)
        return 0;
    rc = algorithm_choose(CALL_BARRIER, 0, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_LEADERS)
        return barrier_leaders(g, why);
    return barrier_dissemination(g, &all, why);
}
