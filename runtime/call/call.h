/* SPDX-License-Identifier: MIT */
/* call.h: the beginning and the end of every call on a group. */
#ifndef RUNTIME_CALL_CALL_H
#define RUNTIME_CALL_CALL_H

#include "runtime/group/group.h"

/* Begins a call: sets g->call (seq counted for collectives), resets stall accounting. Fails with
 * g->broken if the group is broken. */
int call_begin(struct group *g, enum call_kind kind, const char *name, uint64_t count, int type,
               int op, int root, struct fault *why);
/* Ends it: takes the call's code and returns it; with any but 0 and ML_ERR_ARGUMENT the group is broken, and the
 * coordinator told. */
int call_end(struct group *g, int code, struct fault *why);

#endif
