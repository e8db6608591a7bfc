/* SPDX-License-Identifier: MIT */
/*
 * guard.h: the agent's outer process. It forks the worker and waits. When the worker ends in any
 * way, SIGKILL included, the guard inherits what the worker has left (both are child subreapers),
 * ends it, removes the job directory and exits. When the guard is killed the worker sees it
 * (guard_fd) and does the same.
 */
#ifndef LAUNCHER_AGENT_GUARD_H
#define LAUNCHER_AGENT_GUARD_H

#include <sys/types.h>

/* Forks. In the child runs `worker` with its end of the pair and exits with what it returns; in the
 * parent returns the agent's exit status once the worker and all descendants are gone. */
int guard_run(int (*worker)(int guard_fd, pid_t guard));

/* In the worker: tells the guard what it has to clean up; before anything can be left there. An
 * empty `job_dir`: it has been done. */
void guard_tell(int guard_fd, const char *job_dir, const char *cgroup, const char *job, int host);

#endif
