/* SPDX-License-Identifier: MIT */
/* cgroup_usage_linux.h: what the kernel counts of a process's control groups, of version 1 and 2,
 * and what it limits them to. What a host does not have is -1. */
#ifndef LAUNCHER_AGENT_HOST_CGROUP_USAGE_LINUX_H
#define LAUNCHER_AGENT_HOST_CGROUP_USAGE_LINUX_H

#include <stdint.h>
#include <sys/types.h>

/* The least of the process's groups and of all above them. */
struct cgroup_limits {
    double cpus, memory_bytes;
};
void cgroup_limits_read(struct cgroup_limits *out, pid_t pid);

/* What the group that the process is in has used, with those below; nothing for the host's root
 * group, which is the whole host. */
struct cgroup_usage {
    double cpu_s, memory_bytes;
    int64_t killed; /* as below */
};
void cgroup_usage_read(struct cgroup_usage *out, pid_t pid);

/* How many processes the kernel has ended for want of memory: in the process's memory group, and on
 * the host. */
int64_t cgroup_usage_killed(pid_t pid);
int64_t cgroup_usage_killed_on_host(void);

#endif
