/* SPDX-License-Identifier: MIT */
/*
 * task_stage.h: a task whose buffers are in the memory of GPUs, carried out as one whose buffers
 * are in host memory. What it reads is copied there first, and what it has written is copied back.
 */
#ifndef RUNTIME_CALL_TASK_STAGE_H
#define RUNTIME_CALL_TASK_STAGE_H

#include "runtime/call/task.h"
#include "runtime/gpu/gpu_buffer.h"

struct task_stage {
    struct task task;          /* the one to carry out; its `stage` is NULL */
    struct gpu_buffer in, out; /* closed: in host memory, or not used */
    bool shares_out;           /* `in` lies within `out`, in its copy too */
    ml_status status;          /* what has come, for a receive by tag */
    ml_status *wanted;         /* where the program wants that, or NULL */
};

/* Waits for the program's work on the buffers of a task that was checked, and copies what is read.
 * *out stays where it is until task_stage_close, as its task points into it. In error there is
 * nothing to close, and any but ML_ERR_ARGUMENT breaks the group: ML_ERR_DEVICE, ML_ERR_MEMORY.
 * Only the thread that makes the group's calls. */
int task_stage_open(struct task_stage *out, struct group *g, const struct task *t,
                    const struct cuda_driver *driver, struct fault *why);

/* Once the task that was carried out, `t`, has ended with `rc`, a code or 0: copies back what it
 * has written. Returns rc, or the error of this, which breaks the group. Only the thread that has
 * carried it out, or has waited for that. */
int task_stage_close(struct task_stage *s, struct group *g, const struct task *t, int rc,
                     struct fault *why);

/* For a task that will not be carried out, or has failed; again for one that is closed. */
void task_stage_drop(struct task_stage *s);

#endif
