/* SPDX-License-Identifier: MIT */
/* call.h: the beginning and the end of every call on a group. */
#ifndef RUNTIME_CALL_CALL_H
#define RUNTIME_CALL_CALL_H

#include "runtime/group/group.h"

/* Begins a call: fills g->call, numbers it if it is collective, and resets the account of how long
 * it waits. Fails with g->broken if the group is broken, and breaks it if the news (coord_events.h)
 * say so. Only the thread that the group belongs to, as for call_end. */
int call_begin(struct group *g, enum call_kind kind, const char *name, uint64_t count, int type,
               int op, int root, struct fault *why);
/* Ends a call that has returned `code`, and returns `code`. Any but 0 and ML_ERR_ARGUMENT breaks
 * the group, and the coordinator is notified unless it had said so itself. */
int call_end(struct group *g, int code, struct fault *why);

/* Breaks the group because of `why`, as call_end does; nothing if it is broken already. */
void call_fail(struct group *g, const struct fault *why);

#endif
