/* SPDX-License-Identifier: MIT */
/*
 * broadcast.c: short messages down a binomial tree; long ones in two steps per chunk: the root
 * gives every other rank its share of it, and these exchange their shares, so that the root sends
 * the message once, not log2(size) times. M. Barnett, R. Littlefield, D. Payne, R. van de Geijn,
 * "Global combine algorithms for 2-D meshes with wormhole routing", 1993; Thakur et al. 2005, §4.3.
 */
#include "runtime/collective/broadcast.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/steps.h"

/* Ranks are counted from the root. Whoever has the message gives it to the one 2^k behind, the
 * farthest first, because it has the largest subtree. All gifts of one rank go at once. */
static int broadcast_binomial(struct group *g, void *buf, size_t size, int root, struct fault *why)
{
    int n = g->size, me = (g->rank - root + n) % n, bit = 1, count = 0, rc;
    struct pipeline p;

    rc = pipeline_open(&p, g, 32, NULL, 0, why);
    if (rc)
        return rc;
    while (bit < n && !(me & bit))
        bit *= 2;
    if (me) {
        p.t[0] = recv_from((me - bit + root) % n, buf, size);
        rc = transfer_run(g, p.t, 1, why);
    }
    for (bit /= 2; bit; bit /= 2)
        if (me + bit < n)
            p.t[count++] = send_to((me + bit + root) % n, buf, size);
    return rc || !count ? rc : transfer_run(g, p.t, count, why);
}

/* The i-th receiver, from 0, is rank root + 1 + i. */
static int receiver(const struct group *g, int root, int i)
{
    return (root + 1 + i) % g->size;
}

/* The root's transfers for a chunk of every receiver's block. */
static int scatter_give(struct group *g, const struct blocks *b, char *buf, int root, size_t chunk,
                        struct transfer *t)
{
    for (int i = 0; i < g->size - 1; i++) {
        struct piece p = blocks_chunk(b, i, chunk);

        t[i] = send_to(receiver(g, root, i), at(buf, p.offset), p.size);
    }
    return g->size - 1;
}

/* A receiver's: its own block's chunk from the root; PIPELINE_DEPTH steps later it is there and
 * goes round. */
static int scatter_take(struct group *g, const struct blocks *b, char *buf, int root, size_t step,
                        struct transfer *t)
{
    int me = (g->rank - root - 1 + g->size) % g->size, n = 0;
    struct piece mine = blocks_chunk(b, me, step);

    if (step < b->chunks)
        t[n++] = recv_from(root, at(buf, mine.offset), mine.size);
    if (step < PIPELINE_DEPTH)
        return n;
    mine = blocks_chunk(b, me, step - PIPELINE_DEPTH);
    for (int j = 1; j < g->size - 1; j++) {
        int before = (me - j + g->size - 1) % (g->size - 1), behind = (me + j) % (g->size - 1);
        struct piece theirs = blocks_chunk(b, behind, step - PIPELINE_DEPTH);

        t[n++] = send_to(receiver(g, root, before), at(buf, mine.offset), mine.size);
        t[n++] = recv_from(receiver(g, root, behind), at(buf, theirs.offset), theirs.size);
    }
    return n;
}

static int broadcast_scatter(struct group *g, char *buf, size_t size, int root, struct fault *why)
{
    struct pipeline p;
    struct blocks b;
    size_t steps;
    int rc = pipeline_open(&p, g, 2 * g->size, NULL, 0, why);

    blocks_cut(&b, size, g->size - 1);
    steps = b.chunks + (g->rank == root ? 0 : PIPELINE_DEPTH);
    for (size_t step = 0; !rc && step < steps; step++) {
        int n = g->rank == root ? scatter_give(g, &b, buf, root, step, p.t)
                                : scatter_take(g, &b, buf, root, step, p.t);

        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

int broadcast(struct group *g, void *buf, size_t size, int root, struct fault *why)
{
    enum algorithm algorithm;
    int rc;

    if (g->size == 1)
        return 0;
    rc = algorithm_choose(CALL_BROADCAST, size, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_LEADERS)
        return broadcast_leaders(g, buf, size, root, why);
    if (algorithm == ALGORITHM_SCATTER)
        return broadcast_scatter(g, buf, size, root, why);
    return broadcast_binomial(g, buf, size, root, why);
}
