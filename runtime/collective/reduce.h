/* SPDX-License-Identifier: MIT */
/* reduce.h: the algorithms between which reduce.c chooses and that have files of their own. `size`: bytes of the vector. */
#ifndef RUNTIME_COLLECTIVE_REDUCE_H
#define RUNTIME_COLLECTIVE_REDUCE_H

#include "runtime/collective/collectives.h"
#include "runtime/steps/hierarchy.h"

/* Up a tree between the ranks of a team, in their order from `root` (a place) on. work: `size` bytes. `out` is the
 * root's. */
int reduce_tree(struct group *g, const struct team *m, const void *in, void *out, size_t size,
                int root, void *work, struct fault *why);

int reduce_binomial(struct group *g, const void *in, void *out, size_t size, int root,
                    struct fault *why);

/* Only where g->hierarchy is. */
int reduce_leaders(struct group *g, const void *in, void *out, size_t size, int root,
                   struct fault *why);

#endif
