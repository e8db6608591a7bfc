/* SPDX-License-Identifier: MIT */
/*
 * all_reduce.h: the algorithms that all_reduce.c chooses among and that have a file each. They take
 * any size of group and any count; `size` is the whole vector's, in bytes. in == out, or they don't
 * overlap. The operation and the type are those of g->call.
 */
#ifndef RUNTIME_COLLECTIVE_ALL_REDUCE_H
#define RUNTIME_COLLECTIVE_ALL_REDUCE_H

#include "runtime/collective/collectives.h"
#include "runtime/steps/hierarchy.h"

int all_reduce_direct(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_doubling(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_ring(struct group *g, const void *in, void *out, size_t size, struct fault *why);

/* Only where g->hierarchy is set and even. */
int all_reduce_hierarchical(struct group *g, const void *in, void *out, size_t size,
                            struct fault *why);

/* Only where g->shared.coll is set. */
int all_reduce_shared(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_reduce_shared_flat(struct group *g, const void *in, void *out, size_t size,
                           struct fault *why);

/* The doubling between the ranks of a team whose places are in the order of ranks. work: room for 2
 * * size bytes. */
int all_reduce_doubling_team(struct group *g, const struct team *m, const void *in, void *out,
                             size_t size, void *work, struct fault *why);

#endif
