/* SPDX-License-Identifier: MIT */
/*
 * stack_linux.h: where a process waits: the stacks of its threads, from a debugger if one is
 * installed and permitted; otherwise the system call of its first thread, with the kernel's stack
 * if that may be read. For Python programs it adds the stack of their own lines.
 */
#ifndef LAUNCHER_AGENT_STACK_STACK_LINUX_H
#define LAUNCHER_AGENT_STACK_STACK_LINUX_H

#include "launcher/base/machine/process_linux.h"

#include <jansson.h>

struct stack_request {
    const char *dir; /* the job directory */
    bool may_debug;  /* a debugger stops the process for a moment */
    int64_t deadline_ms;
};

/* Adds "by" ("gdb", "eu-stack", "kernel" or "") and "stack", a list of lines; "why" if there are
 * none; and "python", the lines of stack_python.h, if there are any. Takes up to 11 s, and not
 * longer than the deadline. */
void stack_describe(const struct process *p, const struct stack_request *r, json_t *out);

#endif
