/* SPDX-License-Identifier: MIT */
/* all_reduce.h: the algorithms between which all_reduce.c chooses. All take any size of group and
 * count. */
#ifndef RUNTIME_COLLECTIVE_ALL_REDUCE_H
#define RUNTIME_COLLECTIVE_ALL_REDUCE_H

#include "runtime/collective/collectives.h"
#include "runtime/steps/hierarchy.h"

/* `size`: bytes of the whole vector. */
int all_reduce_doubling(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_direct(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_flat(struct group *g, const void *in, void *out, size_t size, struct fault *why);
/* Only where g->hierarchy is, and even. */
int all_reduce_hierarchical(struct group *g, const void *in, void *out, size_t size,
                            struct fault *why);
/* Only where g->hierarchy is. */
int all_reduce_leaders(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_ring(struct group *g, const void *in, void *out, size_t size, struct fault *why);

/* Only where g->board is. */
int all_reduce_shared(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_shared_flat(struct group *g, const void *in, void *out, size_t size,
                           struct fault *why);

/* Between the ranks of a team, whose places are in the order of ranks. work: 2 * size bytes. */
int doubling_run(struct group *g, const struct team *m, const void *in, void *out, size_t size,
                 void *work, struct fault *why);

#endif
