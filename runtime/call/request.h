/* SPDX-License-Identifier: MIT */
/*
 * request.h: ml_request: a call that was started. It belongs to the program until it is waited for,
 * also when its group is gone: nobody else looks at it once it is done.
 */
#ifndef RUNTIME_CALL_REQUEST_H
#define RUNTIME_CALL_REQUEST_H

#include "runtime/call/task.h"
#include "runtime/group/link.h"

struct request {
    struct task task;
    struct group *group;
    struct transfer transfers[2]; /* a message's */
    int transfer_count;
    void *copy;           /* of what a sendrecv in place sends */
    struct request *next; /* in progress.c's lists */
    struct fault result;  /* of a request that is done; code 0: well */
    _Atomic bool is_done;
};

/* `t` has been checked. ML_ERR_MEMORY, ML_ERR_SYSTEM; if the group is known to be broken, that. */
int request_start(struct request **out, struct group *g, const struct task *t, struct fault *why);

/* *done; once it is, returns its result. Any thread. */
int request_test(const struct request *r, bool *done, struct fault *why);

/* Waits until it is done, frees it and returns its result. Any thread. */
int request_wait(struct request *r, struct fault *why);

/* Both, for a blocking call among those that were started. */
int request_run(struct group *g, const struct task *t, struct fault *why);

#endif
