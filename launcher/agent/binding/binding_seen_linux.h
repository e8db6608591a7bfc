/* SPDX-License-Identifier: MIT */
/* binding_seen_linux.h: what the kernel says of the processors and memory of a process. */
#ifndef LAUNCHER_AGENT_BINDING_BINDING_SEEN_LINUX_H
#define LAUNCHER_AGENT_BINDING_BINDING_SEEN_LINUX_H

#include "launcher/agent/binding/binding.h"

#include <stddef.h>
#include <sys/types.h>

/* Writes "cores 0-3, memory node 0" of a child that runs, or has ended and was not waited for; with
 * what differs from `asked`, which may be NULL. `began`: its memory policy when it began, which is
 * told if it has ended; its mode is a memory_policy's. */
void binding_seen_describe(char *out, size_t size, pid_t pid, const struct binding *asked,
                           const struct memory_policy *began);

/* The words for a set of CPUs of the machine whose files are below `root`: "cores 0-3", or where a
 * core has several hardware threads, "hardware threads 0-3,8-11 (4 cores)". */
void binding_seen_cpus(char *out, size_t size, const char *root, const cpu_set_t *cpus);

/* ", memory node 0", ", memory nodes 0-1 only", ", memory node 1 preferred": what the policy says;
 * without one the nodes beside these CPUs, or "" if they are unknown. */
void binding_seen_memory(char *out, size_t size, const char *root, const cpu_set_t *cpus,
                         const struct memory_policy *policy);

#endif
