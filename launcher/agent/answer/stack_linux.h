/* SPDX-License-Identifier: MIT */
/*
 * stack_linux.h: where a process waits: the stacks of its threads, from gdb if that is installed
 * and permitted; otherwise the system call of its first thread, with the kernel's stack if that may
 * be read.
 */
#ifndef LAUNCHER_AGENT_ANSWER_STACK_LINUX_H
#define LAUNCHER_AGENT_ANSWER_STACK_LINUX_H

#include "launcher/agent/host/process_linux.h"

#include <jansson.h>

/* Adds "by" ("gdb", "kernel" or "") and "stack", a list of lines; and "why" if there are none.
 * Takes up to 10 s, and not longer than the deadline. */
void stack_describe(const struct process *p, int64_t deadline_ms, json_t *out);

#endif
