/* SPDX-License-Identifier: MIT */
/* barrier.h: the algorithms between which barrier.c chooses. */
#ifndef RUNTIME_COLLECTIVE_BARRIER_H
#define RUNTIME_COLLECTIVE_BARRIER_H

#include "runtime/collective/collectives.h"
#include "runtime/steps/hierarchy.h"

int barrier_dissemination(struct group *g, const struct team *m, struct fault *why);
int barrier_leaders(struct group *g, struct fault *why); /* only where g->hierarchy is */

#endif
