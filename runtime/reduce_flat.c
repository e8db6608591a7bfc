/* SPDX-License-Identifier: MIT */
#include "runtime/reduce_flat.h"

#include "runtime/reduce_op.h"

int reduce_flat_open(struct pipeline *p, struct group *g, const struct blocks *b, void **work,
                     struct fault *why)
{
    return pipeline_open(p, g, 2 * g->size, work, (size_t)g->size * b->block, why);
}

/* Partial results go where rank 0's block came in, because `sum` may be the operand of this rank. */
static void reduce_in_order(const struct group *g, size_t size, size_t step, const void *mine,
                            void *sum, char *work)
{
    reduce_fn *combine = reduce_op(g->call.type, g->call.op);
    size_t count = size / type_size(g->call.type);
    const void *left = g->rank == 0 ? mine : work;

    for (int r = 1; r < g->size; r++) {
        const void *right = r == g->rank ? mine : work + (size_t)r * step;
        void *into = r == g->size - 1 ? sum : work;

        combine(into, left, right, count);
        left = into;
    }
}

int reduce_flat(struct pipeline *p, const struct blocks *b, const void *in, void *sum, void *work,
                struct fault *why)
{
    const struct group *g = p->group;
    struct piece mine = blocks_block(b, g->rank);
    int n = 0, rc;

    for (int j = 1; j < g->size; j++) {
        int to = rank_after(g, -j), from = rank_after(g, j);
        struct piece theirs = blocks_block(b, to);

        p->t[n++] = send_to(to, at(in, theirs.offset), theirs.size);
        p->t[n++] = recv_from(from, at(work, (size_t)from * b->block), mine.size);
    }
    rc = transfer_run(p->group, p->t, n, why);
    if (!rc)
        reduce_in_order(g, mine.size, b->block, at(in, mine.offset), sum, work);
    return rc;
}
