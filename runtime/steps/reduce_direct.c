/* SPDX-License-Identifier: MIT */
#include "runtime/steps/reduce_direct.h"

size_t reduce_direct_lag(const struct group *g)
{
    return (size_t)PIPELINE_DEPTH * (size_t)(g->size - 1);
}

size_t reduce_direct_window(const struct group *g)
{
    return reduce_direct_lag(g) + PIPELINE_DEPTH;
}

void *reduce_direct_chunk(const struct reduce_direct *r, size_t chunk, size_t *size)
{
    struct piece p = blocks_chunk(&r->blocks, r->group->rank, chunk);

    *size = p.size;
    return buffer_at(r->sum, chunk % r->window * r->blocks.chunk);
}

int reduce_direct_step(const struct reduce_direct *r, size_t step, struct message_op *t)
{
    const struct group *g = r->group;
    int n = 0;

    for (int j = 1; j < g->size; j++) {
        size_t behind = (size_t)PIPELINE_DEPTH * (size_t)(j - 1), chunk = step - behind, size;
        int to = rank_after(g, -j), from = rank_after(g, j);
        struct piece theirs, mine;
        char *into;

        if (step < behind || chunk >= r->blocks.chunks)
            continue;
        theirs = blocks_chunk(&r->blocks, to, chunk);
        mine = blocks_chunk(&r->blocks, g->rank, chunk);
        into = reduce_direct_chunk(r, chunk, &size);
        t[n++] = send_to(to, buffer_at(r->in, theirs.offset), theirs.size);
        t[n++] = reduce_from(g, from, into, j == 1 ? buffer_at(r->in, mine.offset) : into, size);
    }
    return n;
}
