/* SPDX-License-Identifier: MIT */
/* stack_debugger.h: the stacks of a process's threads, as gdb or elfutils' eu-stack prints them. */
#ifndef LAUNCHER_AGENT_STACK_STACK_DEBUGGER_H
#define LAUNCHER_AGENT_STACK_STACK_DEBUGGER_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends to `lines` the lines "Thread 1 (…):" or "TID 4711:" and "#0 …". The process is stopped
 * meanwhile. Returns the debugger's name; NULL: none is installed, it may not trace the process, or
 * it was not done by the deadline (clock_ms), at which it is killed. */
const char *stack_debugger_ask(pid_t pid, int64_t deadline_ms, json_t *lines);

#endif
