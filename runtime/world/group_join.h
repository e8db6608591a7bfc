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
 * join another group at the same time. A window's group is still held (group_hold) afterwards. On
 * failure the code is that of the first failure of any member: ML_ERR_PEER, ML_ERR_LINK,
 * ML_ERR_TIMEOUT, ML_ERR_SYSTEM, ML_ERR_MEMORY and others. */
int group_join(struct group **out, struct world *w, uint32_t id, const int *members, int size,
               const char *call, int64_t deadline_ms, struct fault *why);

/* Holds g to end it, once no other thread does, or once it is held by a call that was left half
 * made. Calls of other threads wait until it is ended, or released. `ends`: other threads' calls on
 * g end with this; NULL: something else ends them. False: another thread has ended g meanwhile, so
 * it is not held. */
bool group_take(struct group *g, const char *call, const struct fault *ends);

/* Waits for what was started on g, closes its links and frees it; takes NULL. The calling thread
 * holds g, unless no other thread knows of it. */
void group_leave(struct group *g);
/* The same for a group of an earlier membership, of which the coordinator knows nothing any more:
 * every call with its handle fails with `why` from now on. */
void group_retire(struct group *g, const struct fault *why);
/* For a broken group: closes its links, and gives back what shared memory and descriptors they had.
 * It stays, to ask the coordinator. Also group_leave and group_retire take it. */
void group_disconnect(struct group *g);

#endif
