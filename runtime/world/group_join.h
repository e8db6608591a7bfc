/* SPDX-License-Identifier: MIT */
/*
 * group_join.h: how a rank joins a group and leaves it. A group comes up in two exchanges. In the
 * first, each member tells the others where it listens; then links are made; the second one tells
 * all members that every one of them has all its links. A member that can't go on breaks the group:
 * so either all members have it, or all of them get the sentence of the first failure.
 */
#ifndef RUNTIME_GROUP_JOIN_H
#define RUNTIME_GROUP_JOIN_H

#include "runtime/group/group.h"

/* Makes the group (group_create) and connects its members, each of which calls it, until
 * deadline_ms (clock_ms). call: the name of the call that makes it, a constant. Another thread may
 * join another group at the same time. On failure the code is that of the first failure of any
 * member: ML_ERR_PEER, ML_ERR_LINK, ML_ERR_TIMEOUT, ML_ERR_SYSTEM, ML_ERR_MEMORY and others. */
int group_join(struct group **out, struct world *w, uint32_t id, const int *members, int size,
               const char *call, int64_t deadline_ms, struct fault *why);
/* Waits for what was started on g, closes its links and frees it; takes NULL. */
void group_leave(struct group *g);
/* The same for a group of an earlier membership, of which the coordinator knows nothing any more:
 * every call with its handle fails with `why` from now on. */
void group_retire(struct group *g, const struct fault *why);

#endif
