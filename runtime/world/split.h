/* SPDX-License-Identifier: MIT */
/* split.h: makes a new group of some members of another one. */
#ifndef RUNTIME_SPLIT_H
#define RUNTIME_SPLIT_H

#include "runtime/group/group.h"

/* As ml_split, for the thread that uses g; the call on g has begun, and this ends it (call_end).
 * call: as group_join has it. *out: NULL if color is negative. In error *out is not set. */
int split_run(struct group *g, int color, int key, const char *call, struct group **out,
              struct fault *why);

/* As ml_group_create, for the thread that uses g. members: the world ranks of the new group, each
 * once, this one's among them. In error *out is not set. */
int split_create_run(struct group *g, const int *members, int count, uint64_t tag, int timeout_ms,
                     struct group **out, struct fault *why);

#endif
