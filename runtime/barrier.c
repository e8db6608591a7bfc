/* SPDX-License-Identifier: MIT */
/*
 * barrier.c: dissemination: in round k every rank tells the one 2^k behind it and hears from the
 * one 2^k before it; after log2(size) rounds each has heard, by way of others, from all. D.
 * Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", 1988.
 * Where all share memory: one round on the board (shm_board.h).
 */
#include "runtime/barrier.h"

#include "runtime/algorithm_table.h"
#include "runtime/shm_board.h"
#include "runtime/steps.h"

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

int barrier(struct group *g, struct fault *why)
{
    const struct team all = {.size = g->size, .place = g->rank};
    enum algorithm algorithm;
    int rc;

    if (g->board)
        return shm_board_begin(g->board, NULL, 0, why);
    if (g->size == 1)
        return 0;
    rc = algorithm_choose(CALL_BARRIER, 0, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_LEADERS)
        return barrier_leaders(g, why);
    return barrier_dissemination(g, &all, why);
}
