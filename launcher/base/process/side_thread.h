/* SPDX-License-Identifier: MIT */
/*
 * side_thread.h: a thread for work that would block the loop. It can be ended at any moment, also
 * within a blocking system call. (Not by pthread_cancel, because the sanitizers do not support its
 * unwinding.)
 */
#ifndef LAUNCHER_BASE_PROCESS_SIDE_THREAD_H
#define LAUNCHER_BASE_PROCESS_SIDE_THREAD_H

#include "common/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct side_thread {
    pthread_t thread;
    bool started;
    atomic_bool stopping;
};

/* `t` is zeroed. The thread blocks all signals of the process. `what`: its purpose, for messages.
 * ML_ERR_SYSTEM. */
int side_thread_start(struct side_thread *t, void *(*run)(void *arg), void *arg, const char *what,
                      struct fault *why);

/* For the thread: to be checked before each wait and after each system call that failed with
 * EINTR. */
bool side_thread_is_stopping(struct side_thread *t);

/* side_thread_stop makes side_thread_is_stopping true and system calls fail with EINTR until the
 * thread has returned; it takes a `t` that was never started. If the thread waits for a condition,
 * the caller must call side_thread_ask_to_stop and signal the condition first. */
void side_thread_ask_to_stop(struct side_thread *t);
void side_thread_stop(struct side_thread *t);

#endif
