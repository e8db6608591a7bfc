/* SPDX-License-Identifier: MIT */
/*
 * reduce_flat.h: the reduce-scatter for vectors that fit in a cache: all ranks send each other
 * their blocks at once, and each reduces what it has received in the order of ranks. One round,
 * where reduce_direct.h needs a round for each chunk and peer, but room for a whole vector.
 */
#ifndef RUNTIME_STEPS_REDUCE_FLAT_H
#define RUNTIME_STEPS_REDUCE_FLAT_H

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

/* Opens `p` for the transfers of the functions below, with room at *work for the vector that `b`
 * cuts. ML_ERR_MEMORY. */
int reduce_flat_open(struct pipeline *p, struct group *g, const struct blocks *b, void **work,
                     struct fault *why);

/* The reduce-scatter between the ranks of a team, each of which has a block in `b`. sum: this
 * rank's block of the result. It may be the same block of `in`, or lie over any other rank's block
 * of it, because everything is sent before sum is written. work: as from reduce_flat_open. */
int reduce_flat_run(struct pipeline *p, const struct team *m, const struct blocks *b,
                    const void *in, void *sum, void *work, struct fault *why);

/* Reduces what the team's ranks have sent, in their order: `size` bytes at `work` and after every
 * `step` bytes, with `mine` in this rank's place. `sum` may be `mine`. The team has two ranks at
 * least. */
void reduce_flat_received(const struct call *call, const struct team *m, size_t size, size_t step,
                          const void *mine, void *sum, const char *work);

/* Every rank of the team receives the others' blocks of `out`. */
int reduce_flat_share(struct pipeline *p, const struct team *m, const struct blocks *b, void *out,
                      struct fault *why);

#endif
