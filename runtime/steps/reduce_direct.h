/* SPDX-License-Identifier: MIT */
/*
 * reduce_direct.h: the reduce-scatter that all_reduce, reduce and reduce_scatter share: over the
 * full mesh each rank gets its own block from every other rank directly and reduces it, in chunks:
 * n - 1 blocks sent and received a rank, the least there is (P. Patarasuk, X. Yuan, "Bandwidth
 * optimal all-reduce algorithms for clusters of workstations", 2009), all peers and both directions
 * at once.
 *
 * Step s, distance j = 1 … n - 1: chunk s - PIPELINE_DEPTH * (j - 1) of my block comes from the
 * rank j behind me, and the same chunk of its block goes to the rank j before me. So all peers are
 * busy, and a chunk still meets its operands in one fixed order, me, me + 1, me + 2 …: the same
 * bits in every run. For two ranks, and wherever just two operands meet, the lower rank's stands
 * left.
 */
#ifndef RUNTIME_STEPS_REDUCE_DIRECT_H
#define RUNTIME_STEPS_REDUCE_DIRECT_H

#include "runtime/steps/steps.h"

struct reduce_direct {
    struct group *group;
    struct blocks blocks; /* of `in` */
    const char *in;
    char *sum;     /* where my block's chunks are reduced */
    size_t window; /* chunks that sum has room for, used in turn; SIZE_MAX: all */
};

/* Room that a window in scratch needs: chunk c stays until DEPTH steps after it is complete. */
size_t reduce_direct_window(const struct group *g);

/* Fills in step's transfers, at most 2 * (n - 1); returns how many. */
int reduce_direct_step(const struct reduce_direct *r, size_t step, struct transfer *t);

/* The steps that chunk c needs are complete before step c + this. */
size_t reduce_direct_lag(const struct group *g);

/* Where chunk c of my block is, and its bytes. */
void *reduce_direct_chunk(const struct reduce_direct *r, size_t chunk, size_t *size);

#endif
