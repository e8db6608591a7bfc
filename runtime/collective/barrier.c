/* SPDX-License-Identifier: MIT */
/* barrier.c: where all share memory, one round on the board (shm_board.h); else by messages. */
#include "runtime/collective/barrier.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/transport/shm_board.h"

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
