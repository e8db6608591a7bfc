/* SPDX-License-Identifier: MIT */
/*
 * side_thread.h: a thread that does what would block the loop, and can be ended at any moment, in a
 * blocked system call too. (Not by pthread_cancel: the sanitizers don't know how it unwinds.)
 */
#ifndef LAUNCHER_PROCESS_SIDE_THREAD_H
#define LAUNCHER_PROCESS_SIDE_THREAD_H

#include "common/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct side_thread {
    pthread_t thread;
    bool started;
    atomic_bool stopping;
};

/* `t` is zeroed. The thread takes no signals of the process. `what`: for messages. */
int side_thread_start(struct side_thread *t, void *(*run)(void *arg), void *arg, const char *what,
                      struct fault *why);

/* Asked by the thread: after each system call that failed with EINTR, and before each wait. */
bool side_thread_is_stopping(struct side_thread *t);

/* Makes side_thread_is_stopping true and system calls fail with EINTR until the thread has
 * returned. `t` may never have been started. A thread that waits for a condition must be woken by
 * the caller, after side_thread_ask_to_stop. */
void side_thread_ask_to_stop(struct side_thread *t);
void side_thread_stop(struct side_thread *t);

#endif
