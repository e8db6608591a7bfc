/* SPDX-License-Identifier: MIT */
/*
 * quiet_thread.h: starts a thread that takes no signals, so that they reach the threads which
 * expect them: the main thread of our programs, and those of the user's program in a rank.
 */
#ifndef COMMON_QUIET_THREAD_H
#define COMMON_QUIET_THREAD_H

#include <pthread.h>

/* pthread_create() with every signal blocked in the new thread but `taken` (0: none). Returns 0 or
 * an errno; in error *thread is undefined. */
int quiet_thread_start(pthread_t *thread, int taken, void *(*run)(void *arg), void *arg);

#endif
