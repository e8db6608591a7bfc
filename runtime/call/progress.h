/* SPDX-License-Identifier: MIT */
/*
 * progress.h: the thread that carries out what was started on a group, in the order in which that
 * was: one collective call after the other; messages that follow each other stand in flight
 * together, also those that are started while others are, so that none waits for another one's
 * peer. A collective call begins when all messages before it are done: as calls match in order,
 * none of them needs it.
 *
 * A group has this thread from its first start on. While anything is under way the group is its;
 * at other times it sleeps, and blocking calls are carried out by the thread that makes them.
 */
#ifndef RUNTIME_CALL_PROGRESS_H
#define RUNTIME_CALL_PROGRESS_H

#include "runtime/call/request.h"

/* Queues r on its group. In error, ML_ERR_MEMORY or ML_ERR_SYSTEM, r is still the caller's. */
int progress_add(struct request *r, struct fault *why);

/* Returns once r is done; or once all that was started on g is. */
void progress_await(struct request *r);
void progress_settle(struct group *g);

/* Settles, and ends the thread if there is one. */
void progress_stop(struct group *g);

#endif
