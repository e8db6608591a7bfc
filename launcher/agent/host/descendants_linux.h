/* SPDX-License-Identifier: MIT */
/*
 * descendants_linux.h: all descendants of this process, whatever they did to escape. The agent's
 * processes are child subreapers, so a process that loses its parent becomes their child, and
 * parentage is enough.
 */
#ifndef LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H
#define LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H

#include "launcher/base/machine/process_linux.h"

/* Finds living descendants (no zombies), sorted by pid. The kernel is asked for the children of
 * each, because a machine may have thousands of other processes, such as those of other agents;
 * without CONFIG_PROC_CHILDREN all of /proc is read. The caller frees *out with process_list_free.
 * ML_ERR_SYSTEM: /proc is missing or of another pid namespace. ML_ERR_MEMORY. */
int descendants_find(struct process_list *out, struct fault *why);

/* Sends `signal` to each of them, to whole process groups where that is safe, and never to another
 * process that has got the same pid since. */
void descendants_signal(const struct process_list *d, int signal);

/* Sends it to the process group in which a child of this process is, which has not been waited for.
 * A rank need not lead its group, and can leave it. */
void descendants_signal_group(pid_t child, int signal);

/* False: this process has no children and therefore, being a subreaper, no descendants. */
bool descendants_exist(void);

/* Field 22 of /proc/PID/stat; 0 if there is no such process. */
uint64_t descendants_start_time(pid_t pid);

/* A sentence that says why `d` is still there after SIGKILL. */
void descendants_describe(const struct process *d, char *text, size_t size);

#endif
