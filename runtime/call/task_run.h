/* SPDX-License-Identifier: MIT */
/* task_run.h: carries out a task at once, on the calling thread. */
#ifndef RUNTIME_CALL_TASK_RUN_H
#define RUNTIME_CALL_TASK_RUN_H

#include "runtime/call/task.h"

/* Carries out a task that was checked, and hashes what it reads and writes if that is wanted
 * (task_hash.h). Only the thread that the group belongs to. Any error but ML_ERR_ARGUMENT breaks
 * the group. */
int task_run(struct group *g, const struct task *t, struct fault *why);

#endif
