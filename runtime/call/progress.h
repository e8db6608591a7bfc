/* SPDX-License-Identifier: MIT */
/*
 * progress.h: the thread that carries out what was started on a group, in the order in which it was
 * started. Collective calls run one after the other. Consecutive messages are all in flight at
 * once, including those that are started meanwhile, so that no message waits for another message's
 * peer. A collective call begins when all messages before it are done: calls match in order, so
 * none of them needs it.
 *
 * A group has this thread from its first start on. While anything is under way, the group belongs
 * to the thread; at other times the thread sleeps, and the thread that makes a blocking call
 * carries it out.
 */
#ifndef RUNTIME_CALL_PROGRESS_H
#define RUNTIME_CALL_PROGRESS_H

#include "runtime/call/task.h"
#include "runtime/group/matching.h"

/* A call that was started: what an ml_request points to. request.c makes and frees it. */
struct request {
    struct task task;
    struct group *group;
    struct message_op ops[2]; /* a message's */
    int op_count;
    struct tagged_receive receive; /* a receive by tag, or a probe */
    uint32_t hash_read;            /* a message's, if wanted (task_hash.h) */
    struct recorded recorded;      /* for a message that is under way */
    void *copy; /* what a sendrecv in place sends, the task's shares or operator, or NULL; owned */
    /* Returns once it is done; NULL: progress_await. */
    void (*await)(struct request *r);
    /* Moves it without waiting, for ml_test; NULL: a thread does. */
    void (*progress)(struct request *r);
    /* What is left to do once it has succeeded, for the thread that learns of it; or NULL. Sets
     * `result` in error. */
    void (*finish)(struct request *r);
    struct request *next;  /* in progress.c's lists */
    struct progress *held; /* the thread's, which others may wait for; or NULL */
    struct fault result;   /* once the request is done; code 0: it succeeded */
    _Atomic bool is_done;  /* progress.c does not look at the request once it is true */
};

/* Queues r on its group; makes the thread if there is none. Only the thread that makes the group's
 * calls. In error, ML_ERR_MEMORY or ML_ERR_SYSTEM, r still belongs to the caller. */
int progress_add(struct request *r, struct fault *why);

/* Returns once r is done. Any thread. */
void progress_await(struct request *r);
/* Nobody waits for r any more: it is being freed. */
void progress_let_go(struct request *r);

/* Returns once everything that was started on g is done. */
void progress_settle(struct group *g);

/* Settles, and ends the thread if there is one. */
void progress_stop(struct group *g);

#endif
