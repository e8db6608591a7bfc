/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_direct.c: a reduce-scatter over the full mesh (reduce_direct.h) and an all-gather,
 * which overlap: as soon as a chunk is reduced, it goes to all ranks. R. Rabenseifner, "A new
 * optimized MPI reduce algorithm", 1997, for the idea of the two halves.
 *
 * In place is safe: a peer's finished chunk arrives only after that peer has received ours.
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/reduce_direct.h"

/* The transfers that bring a chunk of every block from its owner to all ranks. Returns how many. */
static int direct_share_chunk(const struct reduce_direct *r, size_t chunk, char *out,
                              struct message_op *t)
{
    const struct group *g = r->group;
    struct piece mine = blocks_chunk(&r->blocks, g->rank, chunk);
    int n = 0;

    for (int j = 1; j < g->size; j++) {
        struct piece theirs = blocks_chunk(&r->blocks, rank_after(g, j), chunk);

        t[n++] = send_to(rank_after(g, -j), buffer_at(out, mine.offset), mine.size);
        t[n++] = recv_from(rank_after(g, j), buffer_at(out, theirs.offset), theirs.size);
    }
    return n;
}

int all_reduce_direct(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct reduce_direct r = {.group = g, .in = in, .window = SIZE_MAX};
    size_t lag = reduce_direct_lag(g);
    struct pipeline p;
    int rc = pipeline_open(&p, g, 4 * (g->size - 1), NULL, 0, why);

    blocks_cut(&r.blocks, g, size, g->size);
    r.sum = buffer_at(out, blocks_block(&r.blocks, g->rank).offset);
    for (size_t step = 0; !rc && step < r.blocks.chunks + lag; step++) {
        int n = reduce_direct_step(&r, step, p.t);

        if (step >= lag)
            n += direct_share_chunk(&r, step - lag, out, p.t + n);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}
