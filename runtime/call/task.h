/* SPDX-License-Identifier: MIT */
/*
 * task.h: a call of mlaunch.h on a group as data: checked once, then carried out at once by the
 * thread that makes it, or later by the one that progresses what was started (progress.h).
 */
#ifndef RUNTIME_CALL_TASK_H
#define RUNTIME_CALL_TASK_H

#include "runtime/group/group.h"
#include "runtime/group/transfer.h"

struct task {
    enum call_kind kind;
    const char *name; /* "all_reduce", as wait.c tells the coordinator */
    const void *in;   /* what is read, */
    void *out;        /* and what is written; a broadcast's buffer */
    size_t count;     /* elements, or bytes of a share */
    ml_type type;
    ml_op op;
    int root;
    /* CALL_SEND, that is send, recv and sendrecv: `count` bytes of in to rank `to`, */
    int to;
    int from; /* and from there `out_size` bytes; ML_NOBODY: not */
    size_t out_size;
};

/* What can be wrong with the arguments, before anything has been sent: ML_ERR_ARGUMENT, ML_ERR_STATE. */
int task_check(const struct group *g, const struct task *t, struct fault *why);

/* Carries it out; the group is this thread's. */
int task_run(struct group *g, const struct task *t, struct fault *why);

/* The transfers of a CALL_SEND, which reads its bytes from `in`. Returns how many, up to 2. */
int task_transfers(const struct task *t, const void *in, struct transfer transfers[2]);

/* Whether that needs a copy: what comes would overwrite what is still to be sent. */
static inline bool task_is_in_place(const struct task *t)
{
    return t->to != ML_NOBODY && t->from != ML_NOBODY && t->in == t->out && t->count;
}

#endif
