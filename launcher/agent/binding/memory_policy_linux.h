/* SPDX-License-Identifier: MIT */
/* memory_policy_linux.h: on which memory nodes the kernel puts what a process allocates. The policy
 * of a process outlasts exec. */
#ifndef LAUNCHER_AGENT_BINDING_MEMORY_POLICY_LINUX_H
#define LAUNCHER_AGENT_BINDING_MEMORY_POLICY_LINUX_H

#include "common/job_options.h"

#include <sched.h>
#include <sys/types.h>

struct memory_policy {
    enum memory_mode mode; /* MEMORY_ANY, MEMORY_NODES, MEMORY_PREFERRED or MEMORY_INTERLEAVED */
    cpu_set_t nodes;       /* empty with MEMORY_ANY */
};

/* For this thread: system calls only, so that the child of a vfork may use it. 0, or -1 with
 * errno. */
int memory_policy_set(const struct memory_policy *p);
int memory_policy_get(struct memory_policy *p);

/* Reads another process's; -1: it has ended, or this kernel does not say. */
int memory_policy_read(struct memory_policy *p, pid_t pid);

/* What a line of /proc/PID/numa_maps says of it; -1: nothing. */
int memory_policy_parse(struct memory_policy *p, const char *line);

#endif
