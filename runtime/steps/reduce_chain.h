/* SPDX-License-Identifier: MIT */
/*
 * reduce_chain.h: chunks pass from rank to rank along a chain and are reduced on the way, each rank
 * with its own operand on the right: ((r0 op r1) op r2) op … So every rank receives and sends the
 * vector once, has two peers, and holds the reduction of all ranks up to itself. (J. Worringen,
 * "Pipelining and Overlapping for MPI Collective Operations", 2003.)
 */
#ifndef RUNTIME_STEPS_REDUCE_CHAIN_H
#define RUNTIME_STEPS_REDUCE_CHAIN_H

#include "runtime/steps/steps.h"

/* A rank's place in a chain. */
struct reduce_chain {
    int before, next; /* ranks; -1: this rank is the first, or the last */
    const void *in;
    void *sums;    /* where the ranks up to this one are reduced; the first writes nothing there */
    bool is_whole; /* sums holds the vector; else reduce_chain_room() bytes, which pass on only */
};

/* The chain of all ranks from `first` on, in their order, with the whole vector at `sums`. */
struct reduce_chain reduce_chain_up(const struct group *g, int first, const void *in, void *sums);

/* Bytes at `sums` that a rank needs which does not keep them. */
size_t reduce_chain_room(const struct group *g, size_t size);

/* Runs this rank's part in a pipeline with room for two transfers a step, and closes it. sums may
 * be `in`. Errors as from message_op_wait. */
int reduce_chain_run(const struct reduce_chain *c, struct pipeline *p, size_t size,
                     struct fault *why);

#endif
