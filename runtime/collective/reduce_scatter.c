/* SPDX-License-Identifier: MIT */
/*
 * reduce_scatter.c: short shares are all sent at once into scratch memory and reduced there in the
 * order of ranks; long ones are reduced chunk by chunk (reduce_direct.h). With many ranks, short
 * shares are all reduced on all ranks, in log2(ranks) rounds, and long ones pass around the ring.
 *
 * In place, out lies over the share that is sent to rank 0. So no byte is written there before the
 * chunk that lies under it has left.
 */
#include "runtime/collective/collectives.h"

#include "runtime/collective/all_reduce.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/reduce_chain.h"
#include "runtime/steps/reduce_direct.h"
#include "runtime/steps/reduce_flat.h"

#include <string.h>

static int reduce_scatter_flat(struct group *g, const void *in, void *out, size_t size,
                               struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    struct pipeline p;
    struct blocks b;
    void *work;
    int rc;

    blocks_cut_equal(&b, g, (size_t)g->size * size, g->size);
    rc = reduce_flat_open(&p, g, &b, &work, why);
    return rc ? rc : reduce_flat_run(&p, &all, &b, in, out, work, why);
}

/* Copies a completed chunk from scratch to `out`; the chunk of `in` there was sent step - lag steps
 * ago. */
static void direct_copy_out(const struct reduce_direct *r, size_t step, char *out)
{
    size_t lag = reduce_direct_lag(r->group), size;
    void *sum;

    if (step < lag)
        return;
    sum = reduce_direct_chunk(r, step - lag, &size);
    if (size)
        memcpy(out + (step - lag) * r->blocks.chunk, sum, size);
}

static int reduce_scatter_direct(struct group *g, const void *in, void *out, size_t size,
                                 struct fault *why)
{
    struct reduce_direct r = {.group = g, .in = in, .window = SIZE_MAX, .sum = out};
    bool in_place = in == out;
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut_equal(&r.blocks, g, (size_t)g->size * size, g->size);
    if (in_place)
        r.window = reduce_direct_window(g);
    rc = pipeline_open(&p, g, 2 * g->size, &work, in_place ? r.window * r.blocks.chunk : 0, why);
    if (rc)
        return rc;
    if (in_place)
        r.sum = work;
    for (size_t step = 0; !rc && step < r.blocks.chunks + reduce_direct_lag(g); step++) {
        if (in_place)
            direct_copy_out(&r, step, out);
        rc = pipeline_step(&p, reduce_direct_step(&r, step, p.t), why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

static int reduce_scatter_doubling(struct group *g, const void *in, void *out, size_t size,
                                   struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    size_t whole = (size_t)g->size * size;
    char *sum;
    void *work;
    int rc = steps_scratch(g, &work, 3 * whole, why);

    if (rc)
        return rc;
    sum = buffer_at(work, 2 * whole);
    rc = all_reduce_doubling_team(g, &all, in, sum, whole, work, why);
    if (!rc && size)
        memcpy(out, sum + (size_t)g->rank * size, size);
    return rc;
}

/* --- chain -------------------------------------------------------------------------------------
 * All shares go up the chain of ranks in their order and are reduced; its last rank hands them out
 * by a binomial tree, in which each rank passes on the shares of those below it.
 */

/* The transfer, to or from `peer`, of the shares of `count` ranks, the last of them n - 1 - from;
 * none are below rank 0. */
static struct message_op shares_move(const struct group *g, bool is_sent, int peer, char *sums,
                                     size_t size, int from, int count)
{
    int most = g->size - from, shares = count < most ? count : most;
    char *at = buffer_at(sums, (size_t)(most - shares) * size);

    return is_sent ? send_to(peer, at, (size_t)shares * size)
                   : recv_from(peer, at, (size_t)shares * size);
}

static int shares_hand_out(struct group *g, char *sums, size_t size, struct fault *why)
{
    int last = g->size - 1, me = last - g->rank, bit = 1, rc = 0;

    while (bit < g->size && !(me & bit))
        bit *= 2;
    if (me) {
        struct message_op take = shares_move(g, false, last - me + bit, sums, size, me, bit);

        rc = message_op_run(g, &take, 1, why);
    }
    for (bit /= 2; bit && !rc; bit /= 2) {
        struct message_op give = shares_move(g, true, last - me - bit, sums, size, me + bit, bit);

        if (me + bit <= last)
            rc = message_op_run(g, &give, 1, why);
    }
    return rc;
}

static int reduce_scatter_chained(struct group *g, const void *in, void *out, size_t size,
                                  struct fault *why)
{
    struct reduce_chain c = reduce_chain_up(g, 0, in, NULL);
    size_t whole = (size_t)g->size * size;
    struct pipeline p;
    int rc = pipeline_open(&p, g, 2, &c.sums, whole, why);

    if (!rc)
        rc = reduce_chain_run(&c, &p, whole, why);
    if (!rc)
        rc = shares_hand_out(g, c.sums, size, why);
    if (!rc && size)
        memcpy(out, buffer_at(c.sums, (size_t)g->rank * size), size);
    return rc;
}

/* --- ring --------------------------------------------------------------------------------------
 * The first half of all_reduce_ring.c, in which a share begins at the rank after its owner, and so
 * ends at its owner. Patarasuk and Yuan 2009.
 */

struct share_ring {
    struct team team;
    struct blocks blocks;
    const char *in;
    char *out;     /* the owner's share */
    char *work[2]; /* what this rank reduces and then passes on: shares, in turn */
};

static void ring_step(const struct group *g, const struct share_ring *r, int turn, size_t chunk,
                      struct message_op *t)
{
    const struct team *m = &r->team;
    int n = m->size, sent = (m->index - turn - 1 + n) % n, got = (sent - 1 + n) % n;
    struct piece s = blocks_chunk(&r->blocks, team_rank(m, sent), chunk);
    struct piece d = blocks_chunk(&r->blocks, team_rank(m, got), chunk);
    size_t offset = chunk * r->blocks.chunk;
    char *into = turn == n - 2 ? r->out : r->work[turn % 2];

    t[0] = send_to(team_rank(m, team_after(m, 1)),
                   turn ? buffer_at(r->work[(turn - 1) % 2], offset) : buffer_at(r->in, s.offset),
                   s.size);
    t[1] = reduce_from(g, team_rank(m, team_after(m, -1)), buffer_at(into, offset),
                       buffer_at(r->in, d.offset), d.size);
    t[1].incoming_first = true; /* the order of the ring */
}

static int reduce_scatter_ring(struct group *g, const void *in, void *out, size_t size,
                               struct fault *why)
{
    struct share_ring r = {.team = team_ring(g), .in = in, .out = out};
    bool in_place = in == out;
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut_equal(&r.blocks, g, (size_t)g->size * size, g->size);
    rc = pipeline_open(&p, g, 2, &work, 3 * size, why);
    if (rc)
        return rc;
    r.work[0] = work;
    r.work[1] = buffer_at(work, size);
    if (in_place)
        r.out = buffer_at(work, 2 * size);
    for (int turn = 0; !rc && turn < g->size - 1; turn++) {
        for (size_t chunk = 0; !rc && chunk < r.blocks.chunks; chunk++) {
            ring_step(g, &r, turn, chunk, p.t);
            rc = pipeline_step(&p, 2, why);
        }
        if (!rc && r.blocks.chunks < PIPELINE_DEPTH) /* as in all_reduce_ring.c */
            rc = pipeline_close(&p, why);
    }
    if (!rc)
        rc = pipeline_close(&p, why);
    if (!rc && in_place && size)
        memcpy(out, r.out, size);
    return rc;
}

int reduce_scatter_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    enum algorithm algorithm;
    int rc;

    if (g->size == 1) {
        if (in != out && size)
            memcpy(out, in, size);
        return 0;
    }
    rc = algorithm_choose(CALL_REDUCE_SCATTER, size, g, &algorithm, why);
    if (rc)
        return rc;
    switch (algorithm) {
    case ALGORITHM_CHAIN:
        return reduce_scatter_chained(g, in, out, size, why);
    case ALGORITHM_FLAT:
        return reduce_scatter_flat(g, in, out, size, why);
    case ALGORITHM_DOUBLING:
        return reduce_scatter_doubling(g, in, out, size, why);
    case ALGORITHM_RING:
        return reduce_scatter_ring(g, in, out, size, why);
    default:
        return reduce_scatter_direct(g, in, out, size, why);
    }
}
