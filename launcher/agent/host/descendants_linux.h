/* SPDX-License-Identifier: MIT */
/*
 * descendants_linux.h: all descendants of this process, whatever they did to escape. The agent's
 * processes are child subreapers, so a process that loses its parent becomes their child, and the
 * parentage in /proc is enough. The mark, MLAUNCH_JOB_DIR in the environment, is a second way to
 * find them, for this user's processes only.
 */
#ifndef LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H
#define LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H

#include "launcher/base/machine/process_linux.h"

/* Finds living descendants (no zombies) in one pass over /proc and, unless `job_dir` is NULL,
 * processes with that mark. Leaves out this process and `except`, the agent's other process. The
 * caller frees *out with process_list_free. ML_ERR_SYSTEM: /proc is missing or of another pid
 * namespace. */
int descendants_find(struct process_list *out, const char *job_dir, pid_t except,
                     struct fault *why);

/* Sends `signal` to each of them, to whole process groups where that is safe, and never to another
 * process that has got the same pid since. */
void descendants_signal(const struct process_list *d, int signal);

/* False: this process has no children and therefore, being a subreaper, no descendants. */
bool descendants_exist(void);

/* Field 22 of /proc/PID/stat; 0 if there is no such process. */
uint64_t descendants_start_time(pid_t pid);

/* A sentence that says why `d` is still there after SIGKILL. */
void descendants_describe(const struct process *d, char *text, size_t size);

#endif
