/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_flat.c: two rounds, whatever the number of ranks: everyone gets its block from everyone and
 * reduces it, then everyone gets everyone's result. The fewest bytes, as all_reduce_direct, and the fewest
 * rounds; for vectors that fit in a cache, and as many messages at once as there are ranks.
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/reduce_flat.h"

int all_reduce_flat(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    const struct team all = {.size = g->size, .place = g->rank};
    struct blocks b;
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut(&b, size, g->size);
    rc = reduce_flat_open(&p, g, &b, &work, why);
    if (!rc)
        rc = reduce_flat(&p, &all, &b, in, at(out, blocks_block(&b, g->rank).offset), work, why);
    return rc ? rc : share_flat(&p, &all, &b, out, why);
}
