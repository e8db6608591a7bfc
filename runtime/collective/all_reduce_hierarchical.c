/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_hierarchical.c: the ranks of a host reduce-scatter in shared memory, each block is
 * all-reduced between the ranks in the same place on all hosts, and the blocks are gathered on each
 * host again. So as many bytes cross the network as if there were one rank per host, and all ranks
 * carry them. (M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
 * multi-leader design", SC 2017, with every rank as a leader.)
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/reduce_flat.h"

/* Bytes that pass through all levels at a time: what one level has reduced is still in a cache. */
enum { SEGMENT = 1 << 20 };

static size_t larger_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Opens the pipeline with room for the largest segment on either level. */
static int hierarchical_open(struct pipeline *p, struct group *g, size_t size, void **work,
                             struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    struct blocks local, across;

    blocks_cut(&local, g, size, h->local.size);
    blocks_cut(&across, g, local.block, h->across.size);
    return pipeline_open(
        p, g, 2 * (int)larger_size((size_t)h->local.size, (size_t)h->across.size), work,
        larger_size((size_t)h->local.size * local.block, (size_t)h->across.size * across.block),
        why);
}

static int segment_reduce(struct pipeline *p, const char *in, char *out, size_t size, void *work,
                          struct fault *why)
{
    const struct group *g = p->group;
    const struct hierarchy *h = g->hierarchy;
    struct blocks local, across;
    char *block;
    int rc;

    blocks_cut(&local, g, size, h->local.size);
    block = buffer_at(out, blocks_block(&local, h->local.index).offset);
    blocks_cut(&across, g, blocks_block(&local, h->local.index).size, h->across.size);

    rc = reduce_flat_run(p, &h->local, &local, in, block, work, why);
    if (!rc)
        rc = reduce_flat_run(p, &h->across, &across, block,
                             buffer_at(block, blocks_block(&across, h->across.index).offset), work,
                             why);
    if (!rc)
        rc = reduce_flat_share(p, &h->across, &across, block, why);
    return rc ? rc : reduce_flat_share(p, &h->local, &local, out, why);
}

int all_reduce_hierarchical(struct group *g, const void *in, void *out, size_t size,
                            struct fault *why)
{
    struct pipeline p;
    size_t segment = blocks_part(g, SEGMENT), offset = 0;
    void *work;
    int rc = hierarchical_open(&p, g, size < segment ? size : segment, &work, why);

    do { /* once at least: empty messages also show calls that differ */
        size_t part = size - offset < segment ? size - offset : segment;

        if (!rc)
            rc = segment_reduce(&p, buffer_at(in, offset), buffer_at(out, offset), part, work, why);
        offset += part;
    } while (!rc && offset < size);
    return rc;
}
