/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_flat.c: two rounds, whatever the number of ranks: everyone gets its block from everyone and
 * reduces it, then everyone gets everyone's result. The fewest bytes, as all_reduce_direct, and the fewest
 * rounds; for vectors that fit in a cache, and as many messages at once as there are ranks.
 */
#include "runtime/all_reduce.h"

#include "runtime/reduce_flat.h"

int all_reduce_flat(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct blocks b;
    struct piece mine;
    struct pipeline p;
    void *work;
    int rc, n = 0;

    blocks_cut(&b, size, g->size);
    mine = blocks_block(&b, g->rank);
    rc = reduce_flat_open(&p, g, &b, &work, why);
    if (!rc)
        rc = reduce_flat(&p, &b, in, at(out, mine.offset), work, why);
    if (rc)
        return rc;
    for (int j = 1; j < g->size; j++) {
        struct piece theirs = blocks_block(&b, rank_after(g, j));

        p.t[n++] = send_to(rank_after(g, -j), at(out, mine.offset), mine.size);
        p.t[n++] = recv_from(rank_after(g, j), at(out, theirs.offset), theirs.size);
    }
    return transfer_run(g, p.t, n, why);
}
