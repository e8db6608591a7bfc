/* SPDX-License-Identifier: MIT */
/*
 * barrier.c: dissemination: in round k every rank tells the one 2^k behind it and hears from the
 * one 2^k before it; after log2(size) rounds each has heard, by way of others, from all. D.
 * Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", 1988.
 * Where all share memory: one round on the board (shm_board.h).
 */
#include "runtime/collectives.h"

#include "runtime/shm_board.h"
#include "runtime/steps.h"

int barrier(struct group *g, struct fault *why)
{
    int rc = 0;

    if (g->board)
        return shm_board_begin(g->board, NULL, 0, why);
    for (int distance = 1; !rc && distance < g->size; distance *= 2) {
        struct transfer t[] = {
            send_to(rank_after(g, distance), NULL, 0),
            recv_from(rank_after(g, -distance), NULL, 0),
        };

        rc = transfer_run(g, t, 2, why);
    }
    return rc;
}
