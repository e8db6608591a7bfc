/* SPDX-License-Identifier: MIT */
/*
 * group_join.h: how a rank comes to a group that works, and leaves it. A group comes up in two
 * exchanges. In the first, each member tells where it listens; in between, links are made; the
 * second says that everybody has all of them. A member that can't go on breaks the group: so either
 * all members have it or all get the first failure, in words.
 */
#ifndef RUNTIME_GROUP_JOIN_H
#define RUNTIME_GROUP_JOIN_H

#include "runtime/group/group.h"

/* Makes the group (group_create) and connects its members: every one of them calls it. Until
 * deadline_ms (clock_ms). */
int group_join(struct group **out, struct world *w, uint32_t id, const int *members, int size,
               int64_t deadline_ms, struct fault *why);
/* Settles what was started on g, closes its links and frees it; takes NULL. */
void group_leave(struct group *g);

#endif
