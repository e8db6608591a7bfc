/* SPDX-License-Identifier: MIT */
/*
 * stack_linux.h: where a process waits: its threads' stacks by gdb, if there is one and it may;
 * else the system call that its first thread is in, and the kernel's stack of it where that may be
 * read.
 */
#ifndef LAUNCHER_AGENT_ANSWER_STACK_LINUX_H
#define LAUNCHER_AGENT_ANSWER_STACK_LINUX_H

#include "launcher/agent/host/process_linux.h"

#include <jansson.h>

/* Adds "by" ("gdb", "kernel" or "") and "stack", a list of lines; with nothing to be had also
 * "why". */
void stack_describe(const struct process *p, int64_t deadline_ms, json_t *out);

#endif
