/* SPDX-License-Identifier: MIT */
/*
 * reduce_direct.h: the reduce-scatter that all_reduce, reduce and reduce_scatter share. Over the
 * full mesh each rank receives its own block from every other rank directly and reduces it, chunk
 * by chunk, with all peers and in both directions at once. Each rank sends and receives n - 1
 * blocks, the fewest possible (P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for
 * clusters of workstations", 2009).
 *
 * In step s, for each distance j = 1 … n - 1, chunk s - PIPELINE_DEPTH * (j - 1) of my block comes
 * from the rank j after me, and the same chunk of its block goes to the rank j before me. So all
 * peers are busy, and a chunk still meets its operands in one fixed order, me, me + 1, me + 2 …,
 * which gives the same bits in every run. With two ranks, and wherever just two operands meet, the
 * lower rank's is the left one.
 */
#ifndef RUNTIME_STEPS_REDUCE_DIRECT_H
#define RUNTIME_STEPS_REDUCE_DIRECT_H

#include "runtime/steps/steps.h"

struct reduce_direct {
    struct group *group;
    struct blocks blocks; /* how `in` is divided */
    const char *in;
    char *sum;     /* where my block's chunks are reduced */
    size_t window; /* chunks that sum has room for, which are used in turn; SIZE_MAX: all */
};

/* The chunks that a window in scratch must have room for: a chunk stays until PIPELINE_DEPTH steps
 * after it is complete. */
size_t reduce_direct_window(const struct group *g);

/* Fills in the transfers of a step, at most 2 * (n - 1). Returns how many. */
int reduce_direct_step(const struct reduce_direct *r, size_t step, struct message_op *t);

/* Chunk c of my block is complete before step c + reduce_direct_lag(). */
size_t reduce_direct_lag(const struct group *g);

/* Where a chunk of my block is reduced. Stores its bytes in *size. */
void *reduce_direct_chunk(const struct reduce_direct *r, size_t chunk, size_t *size);

#endif
