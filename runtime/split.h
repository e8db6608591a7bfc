/* SPDX-License-Identifier: MIT */
/* split.h: a new group out of some members of another. */
#ifndef RUNTIME_SPLIT_H
#define RUNTIME_SPLIT_H

#include "runtime/group/group.h"

/* As ml_split, whose call on g has begun; ends it. */
int split_run(struct group *g, int color, int key, struct group **out, struct fault *why);

#endif
