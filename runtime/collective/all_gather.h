/* SPDX-License-Identifier: MIT */
/* all_gather.h: the algorithms between which all_gather.c chooses and that have files of their own. This rank's share is in
 * its place in `out` already. */
#ifndef RUNTIME_COLLECTIVE_ALL_GATHER_H
#define RUNTIME_COLLECTIVE_ALL_GATHER_H

#include "runtime/collective/collectives.h"

/* Only where g->hierarchy is; the first where it is even. */
int all_gather_hierarchical(struct group *g, char *out, size_t size, struct fault *why);
int all_gather_leaders(struct group *g, char *out, size_t size, struct fault *why);

#endif
