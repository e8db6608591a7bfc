/* SPDX-License-Identifier: MIT */
/*
 * all_gather.c: shares go to everybody at once; for many ranks around the ring (long shares) or in
 * log2 rounds (short ones: J. Bruck, C. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient
 * Algorithms for All-to-All Communications in Multiport Message-Passing Systems", 1997).
 */
#include "runtime/collective/all_gather.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/steps.h"

#include <string.h>

/* What is sent is `in`, unless that is out, where rank 0's share arrives: who reads a share (shm_offer.h) is
 * slowed down if it has just been written. */
static int all_gather_direct(struct group *g, const void *in, char *out, size_t size,
                             struct fault *why)
{
    char *place = at(out, (size_t)g->rank * size);
    const char *mine = in == out ? place : in;
    struct pipeline p;
    int rc = pipeline_open(&p, g, 2 * g->size, NULL, 0, why), n = 0;

    if (rc)
        return rc;
    if (mine == place && in != place && size)
        memcpy(place, in, size);
    for (int j = 1; j < g->size; j++) {
        int from = rank_after(g, j);

        p.t[n++] = send_to(rank_after(g, -j), mine, size);
        p.t[n++] = recv_from(from, at(out, (size_t)from * size), size);
    }
    rc = transfer_start(g, p.t, n, why);
    if (rc)
        return rc;
    if (mine != place && size)
        memcpy(place, mine, size);
    return transfer_wait(g, p.t, n, why);
}

static int all_gather_ring(struct group *g, char *out, size_t size, struct fault *why)
{
    int next = rank_after(g, 1), before = rank_after(g, -1), rc;
    struct pipeline p;
    struct blocks b;

    rc = pipeline_open(&p, g, 2, NULL, 0, why);
    blocks_cut_equal(&b, (size_t)g->size * size, g->size);
    for (int turn = 0; !rc && turn < g->size - 1; turn++) {
        for (size_t chunk = 0; !rc && chunk < b.chunks; chunk++) {
            struct piece s = blocks_chunk(&b, rank_after(g, -turn), chunk);
            struct piece d = blocks_chunk(&b, rank_after(g, -turn - 1), chunk);

            p.t[0] = send_to(next, at(out, s.offset), s.size);
            p.t[1] = recv_from(before, at(out, d.offset), d.size);
            rc = pipeline_step(&p, 2, why);
        }
        if (!rc && b.chunks < PIPELINE_DEPTH) /* as in all_reduce_ring */
            rc = pipeline_close(&p, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* Round k doubles what one has: block i in scratch is rank me + i's. */
static int all_gather_bruck(struct group *g, char *out, size_t size, struct fault *why)
{
    size_t have = 1, n = (size_t)g->size, behind = n - (size_t)g->rank;
    char *blocks;
    void *work;
    int rc = scratch_take(g, &work, n * size, why);

    if (rc)
        return rc;
    blocks = work;
    if (size)
        memcpy(blocks, out + (size_t)g->rank * size, size);
    for (; !rc && have < n; have *= 2) {
        size_t more = have < n - have ? have : n - have;
        struct transfer t[] = {
            send_to(rank_after(g, -(int)have), blocks, more * size),
            recv_from(rank_after(g, (int)have), blocks + have * size, more * size),
        };

        rc = transfer_run(g, t, 2, why);
    }
    if (rc || !size)
        return rc;
    memcpy(out + (size_t)g->rank * size, blocks, behind * size);
    memcpy(out, blocks + behind * size, (size_t)g->rank * size);
    return 0;
}

int all_gather(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    char *mine = at(out, (size_t)g->rank * size);
    enum algorithm algorithm = ALGORITHM_RING;
    int rc = 0;

    if (g->size > 1)
        rc = algorithm_choose(CALL_ALL_GATHER, size, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_DIRECT)
        return all_gather_direct(g, in, out, size, why);
    if (in != mine && size)
        memcpy(mine, in, size);
    if (g->size == 1)
        return 0;
    switch (algorithm) {
    case ALGORITHM_BRUCK:
        return all_gather_bruck(g, out, size, why);
    case ALGORITHM_HIERARCHICAL:
        return all_gather_hierarchical(g, out, size, why);
    case ALGORITHM_LEADERS:
        return all_gather_leaders(g, out, size, why);
    default:
        return all_gather_ring(g, out, size, why);
    }
}
