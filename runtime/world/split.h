/* SPDX-License-Identifier: MIT */
/* split.h: makes a new group of some members of another one. */
#ifndef RUNTIME_SPLIT_H
#define RUNTIME_SPLIT_H

#include "runtime/group/group.h"

/* As ml_split, for the thread that uses g; the call on g has begun, and this ends it (call_end).
 * is_window: as struct group has it. *out: NULL if color is negative. In error *out is not set. */
int split_run(struct group *g, int color, int key, bool is_window, struct group **out,
              struct fault *why);

#endif
