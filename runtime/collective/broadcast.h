/* SPDX-License-Identifier: MIT */
/* broadcast.h: the algorithms between which broadcast.c chooses and that have files of their own. */
#ifndef RUNTIME_COLLECTIVE_BROADCAST_H
#define RUNTIME_COLLECTIVE_BROADCAST_H

#include "runtime/collective/collectives.h"

/* Only where g->hierarchy is. */
int broadcast_leaders(struct group *g, char *buf, size_t size, int root, struct fault *why);

#endif
