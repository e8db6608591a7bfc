/* SPDX-License-Identifier: MIT */
/*
 * reduce_flat.h: the reduce-scatter for vectors that fit in a cache: everyone sends everyone its block at
 * once, and reduces what came in rank order. One round, where reduce_direct.h needs a round for each chunk
 * and peer, but room for a whole vector.
 */
#ifndef RUNTIME_STEPS_REDUCE_FLAT_H
#define RUNTIME_STEPS_REDUCE_FLAT_H

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

/* Opens `p` with room for `most` transfers and, at *work, for the vector that `b` cuts. */
int reduce_flat_open(struct pipeline *p, struct group *g, const struct blocks *b, void **work,
                     struct fault *why);

/* Between the ranks of a team, which `b` has a block for each of. sum: this rank's block of the reduction. It may be that
 * of `in`, or lie over any block of it that belongs to another rank, because all is sent before anything is written. */
int reduce_flat_run(struct pipeline *p, const struct team *m, const struct blocks *b,
                    const void *in, void *sum, void *work, struct fault *why);

/* sum = of `size` bytes, what the team's ranks have sent, at `work` and each `step` after it, and `mine` in this one's place;
 * in their order. `sum` may be `mine`. Two ranks at least. */
void reduce_flat_received(const struct call *call, const struct team *m, size_t size, size_t step,
                          const void *mine, void *sum, const char *work);

/* Everyone of the team gets everyone's block of `out`. */
int reduce_flat_share(struct pipeline *p, const struct team *m, const struct blocks *b, void *out,
                      struct fault *why);

#endif
