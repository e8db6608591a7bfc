/* SPDX-License-Identifier: MIT */
/*
 * request.h: what ml_test and ml_wait do with a call that was started (struct request in
 * progress.h). A request belongs to the program until request_wait frees it, even if its group is
 * gone before.
 */
#ifndef RUNTIME_CALL_REQUEST_H
#define RUNTIME_CALL_REQUEST_H

#include "common/fault.h"

#include <stdbool.h>

struct group;
struct request;
struct task;

/* Starts `t`, which has been checked, and copies it. ML_ERR_MEMORY, ML_ERR_SYSTEM; if the group is
 * known to be broken, the error that broke it. */
int request_start(struct request **out, struct group *g, const struct task *t, struct fault *why);

/* Stores whether r is done. Returns its result if it is, else 0. ML_ERR_STATE in a forked child.
 * Any thread. */
int request_test(struct request *r, bool *done, struct fault *why);

/* Waits until r is done, frees it and returns its result. In a forked child: ML_ERR_STATE, and
 * nothing is freed. Any thread, but only one per request. */
int request_wait(struct request *r, struct fault *why);

/* request_start and request_wait: a blocking call in its place among those that were started. */
int request_run(struct group *g, const struct task *t, struct fault *why);

#endif
