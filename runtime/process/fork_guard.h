/* SPDX-License-Identifier: MIT */
/*
 * fork_guard.h: what happens to a process that holds a rank when it forks. The child may not use
 * the rank, and must not keep its connections open: otherwise the other ranks would not notice when
 * the parent dies. All functions are thread-safe.
 */
#ifndef RUNTIME_PROCESS_FORK_GUARD_H
#define RUNTIME_PROCESS_FORK_GUARD_H

#include <stdbool.h>

/* True in a forked child of the process that held the rank. Reading it needs no system call. */
extern bool fork_guard_is_child;

void fork_guard_start(void);    /* this process holds a rank from now on */
void fork_guard_stop(void);     /* it no longer holds one: children may claim it */
void fork_guard_add(int fd);    /* closes it in forked children; -1 is ignored */
void fork_guard_forget(int fd); /* its owner is about to close it; -1 is ignored */
void fork_guard_close(int fd);  /* fork_guard_forget and close() in one step */

#endif
