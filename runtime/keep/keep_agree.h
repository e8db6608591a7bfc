/* SPDX-License-Identifier: MIT */
/* keep_agree.h: which version of what they keep all ranks have, whole (ml_kept). */
#ifndef RUNTIME_KEEP_KEEP_AGREE_H
#define RUNTIME_KEEP_KEEP_AGREE_H

#include "runtime/group/group.h"

#include <stdint.h>

/* As ml_kept, for the thread that uses `world`, on which nothing is under way. Returns 1 or 0, or
 * an error. site: where in the program the call is, or NULL. */
int keep_agree(struct group *world, const char *name, const char *site, const int *ids, int count,
               uint64_t *version, struct fault *why);

#endif
