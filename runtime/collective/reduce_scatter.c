/* SPDX-License-Identifier: MIT */
/*
 * reduce_scatter.c: short shares are all sent at once into scratch memory and reduced there in the
 * order of ranks; long ones are reduced chunk by chunk (reduce_direct.h).
 *
 * In place, out lies over the share that is sent to rank 0. So no byte is written there before the
 * chunk that lies under it has left.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
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
    if (algorithm == ALGORITHM_FLAT)
        return reduce_scatter_flat(g, in, out, size, why);
    return reduce_scatter_direct(g, in, out, size, why);
}
