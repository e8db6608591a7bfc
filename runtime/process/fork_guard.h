/* SPDX-License-Identifier: MIT */
/*
 * fork_guard.h: what happens to a process that holds a rank when it forks. The child may not use
 * the rank, and must not keep its connections open: else the others would not notice when the
 * parent dies.
 */
#ifndef RUNTIME_PROCESS_FORK_GUARD_H
#define RUNTIME_PROCESS_FORK_GUARD_H

#include <stdbool.h>

/* True in a forked child of the process that held the rank. Cheap: no system call. */
extern bool fork_guard_is_child;

void fork_guard_start(void);    /* from now on this process holds a rank */
void fork_guard_stop(void);     /* it no longer does: children may claim it */
void fork_guard_add(int fd);    /* close this one in forked children; -1 is ignored */
void fork_guard_forget(int fd); /* about to be closed by whoever opened it; -1 is ignored */
void fork_guard_close(int fd);  /* both at once */

#endif
