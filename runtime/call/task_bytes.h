/* SPDX-License-Identifier: MIT */
/* task_bytes.h: which bytes of its buffers a rank reads and writes in a task. */
#ifndef RUNTIME_CALL_TASK_BYTES_H
#define RUNTIME_CALL_TASK_BYTES_H

#include "runtime/call/task.h"

struct task_bytes {
    const void *at;
    size_t end;           /* behind the last one, from `at`; 0: none */
    const size_t *blocks; /* one for each rank: their sizes; NULL: all bytes up to the end */
    const size_t *places; /* where they begin; NULL: one after the other */
};

/* The task has been checked. A receive by tag may write fewer. */
struct task_bytes task_bytes_read(const struct group *g, const struct task *t);
struct task_bytes task_bytes_written(const struct group *g, const struct task *t);

#endif
