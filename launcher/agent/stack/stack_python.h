/* SPDX-License-Identifier: MIT */
/*
 * stack_python.h: where a Python program is, asked by a signal (common/agent_to_rank.h).
 */
#ifndef LAUNCHER_AGENT_STACK_STACK_PYTHON_H
#define LAUNCHER_AGENT_STACK_STACK_PYTHON_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends the lines 'File "train.py", line 17 in step', the innermost first, of the main thread of
 * a process that answers to the job directory `dir`; otherwise nothing. Takes up to 1 s, and
 * not longer than the deadline (clock_ms). */
void stack_python_ask(const char *dir, pid_t pid, int64_t deadline_ms, json_t *lines);

#endif
