/* SPDX-License-Identifier: MIT */
/*
 * message_op.h: sending and receiving messages (a struct message_op is a transfer) on a group's
 * links: all that collectives know of transports. Only the thread that has the group may call these
 * functions: one thread at a time per group.
 */
#ifndef RUNTIME_GROUP_MESSAGE_OP_H
#define RUNTIME_GROUP_MESSAGE_OP_H

#include "runtime/group/link.h"

struct waiting;

/* Starts n transfers of the group's current call (call_begin in call.h). Several sends to one peer
 * go in order, and so do several receives. May already move bytes. In error as message_op_wait. */
int message_op_start(struct group *g, struct message_op *t, int n, struct fault *why);

/* Returns once all n are done, and moves bytes on all of the group's links meanwhile; spins
 * briefly, then sleeps in poll(), which the coordinator's socket ends too. In error (ML_ERR_PEER,
 * ML_ERR_MISMATCH, ML_ERR_LINK, ML_ERR_SYSTEM) all transfers of the group are dropped: nothing
 * touches their buffers any more, and the caller must break the group (call_end). */
int message_op_wait(struct group *g, struct message_op *t, int n, struct fault *why);

/* message_op_start and message_op_wait: the common case. */
int message_op_run(struct group *g, struct message_op *t, int n, struct fault *why);

/* Moves what can be moved on all links; if nothing moved, waits a little or until something may
 * have happened. For a caller that waits for more than one array of transfers. `w`: as in wait.h.
 * Returns > 0 if anything moved, 0 if not; in error as message_op_wait. */
int message_op_step(struct group *g, struct waiting *w, struct fault *why);

/* Sees to it that what is queued on a link moves, even if a call that waits otherwise (shm_coll.c)
 * has passed meanwhile. */
void message_op_activate(struct link *l);
/* Queues a transfer as message_op_start does, but moves nothing. */
void message_op_queue(struct group *g, struct message_op *t);

/* Drops all transfers of a broken group: nothing touches their buffers any more. */
void message_op_drop(struct group *g);

#endif
