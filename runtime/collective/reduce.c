/* SPDX-License-Identifier: MIT */
/*
 * reduce.c: short vectors up a tree (reduce_binomial.c, reduce_leaders.c); long ones by a direct reduce-scatter whose
 * chunks go to the root as they are done (R. Rabenseifner, "A new optimized MPI reduce algorithm", 1997).
 */
#include "runtime/collective/reduce.h"

#include "runtime/kernel/reduce_op.h"
#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/reduce_direct.h"

#include <string.h>

/* The transfers that bring chunk `chunk` of every block to the root. */
static int bring_chunk(const struct reduce_direct *r, size_t chunk, int root, char *out,
                       struct transfer *t)
{
    const struct group *g = r->group;
    int n = 0;

    if (g->rank != root) {
        size_t size;
        void *sum = reduce_direct_chunk(r, chunk, &size);

        t[n++] = send_to(root, sum, size);
        return n;
    }
    for (int j = 1; j < g->size; j++) {
        struct piece p = blocks_chunk(&r->blocks, rank_after(g, j), chunk);

        t[n++] = recv_from(rank_after(g, j), at(out, p.offset), p.size);
    }
    return n;
}

static int reduce_by_scatter(struct group *g, const void *in, void *out, size_t size, int root,
                             struct fault *why)
{
    struct reduce_direct r = {.group = g, .in = in, .window = SIZE_MAX};
    size_t lag = reduce_direct_lag(g);
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut(&r.blocks, size, g->size);
    if (g->rank != root)
        r.window = reduce_direct_window(g);
    rc = pipeline_open(&p, g, 3 * g->size, &work, g->rank == root ? 0 : r.window * r.blocks.chunk,
                       why);
    if (rc)
        return rc;
    r.sum = g->rank == root ? at(out, blocks_block(&r.blocks, root).offset) : work;
    for (size_t step = 0; !rc && step < r.blocks.chunks + lag; step++) {
        int n = reduce_direct_step(&r, step, p.t);

        if (step >= lag)
            n += bring_chunk(&r, step - lag, root, out, p.t + n);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

int reduce(struct group *g, const void *in, void *out, size_t count, ml_type type, ml_op op,
           int root, struct fault *why)
{
    size_t size = count * type_size(type);
    enum algorithm algorithm;
    int rc;

    (void)op;
    if (g->size == 1) {
        if (in != out && size)
            memcpy(out, in, size);
        return 0;
    }
    rc = algorithm_choose(CALL_REDUCE, size, g, &algorithm, why);
    if (rc)
        return rc;
    switch (algorithm) {
    case ALGORITHM_DIRECT:
        return reduce_by_scatter(g, in, out, size, root, why);
    case ALGORITHM_LEADERS:
        return reduce_leaders(g, in, out, size, root, why);
    default:
        return reduce_binomial(g, in, out, size, root, why);
    }
}
