/* SPDX-License-Identifier: MIT */
/*
 * stack_python.h: where a Python program is. The package mlaunch registers a signal with Python's
 * faulthandler, which prints the stack of the thread that gets it, even in the middle of a call
 * into C; and leaves the file python.PID.SIGNAL in the job directory for it.
 */
#ifndef LAUNCHER_AGENT_STACK_STACK_PYTHON_H
#define LAUNCHER_AGENT_STACK_STACK_PYTHON_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends the lines 'File "train.py", line 17 in step', the innermost first, of the main thread of
 * a process with such a file in the job directory `dir`; otherwise nothing. Takes up to 1 s, and
 * not longer than the deadline (clock_ms). */
void stack_python_ask(const char *dir, pid_t pid, int64_t deadline_ms, json_t *lines);

#endif
