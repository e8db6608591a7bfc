/* SPDX-License-Identifier: MIT */
/* repair.h: the next membership of the world: those that live go on without those that are gone. */
#ifndef RUNTIME_REPAIR_H
#define RUNTIME_REPAIR_H

#include "runtime/group/group.h"

/* As ml_repair, for the thread that uses `world`, which is the process's. */
int repair_run(struct group *world, struct group **next, struct ml_change *change,
               struct fault *why);
/* As ml_revoke, for the thread that holds g (group_hold), or else for any that looks at it
 * (group_look_begin). */
void repair_revoke(struct group *g, bool holds, const char *text);
/* As ml_agree, for the thread that uses g. */
int repair_agree(struct group *g, uint64_t *value, struct fault *why);

#endif
