/* SPDX-License-Identifier: MIT */
/*
 * descendants_linux.h: the processes that came out of this one, however they tried to get away. An
 * agent's processes are child subreapers, so whoever loses its parent becomes our child: parentage
 * in /proc is enough. The mark, MLAUNCH_JOB_DIR in the environment, is a second net, for this
 * user's processes only.
 */
#ifndef LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H
#define LAUNCHER_AGENT_HOST_DESCENDANTS_LINUX_H

#include "launcher/agent/host/process_linux.h"

/* Looks once through /proc, for living ones: no zombies. `job_dir`: those with this mark too,
 * unless NULL; `except` is not counted (the agent's other process), nor is this one. ML_ERR_SYSTEM
 * if /proc is not there or not ours. */
int descendants_find(struct process_list *out, const char *job_dir, pid_t except,
                     struct fault *why);

/* Sends `signal` to each of them, process groups as a whole where that is safe, never to a process
 * that has taken over a pid. */
void descendants_signal(const struct process_list *d, int signal);

/* False: this process has no children, so (being a subreaper) no descendants at all. */
bool descendants_exist(void);

/* Field 22 of /proc/PID/stat; 0 if there is no such process. */
uint64_t descendants_start_time(pid_t pid);

/* Why `d` is still there after SIGKILL, for people. */
void descendants_describe(const struct process *d, char *text, size_t size);

#endif
