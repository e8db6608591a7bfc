/* SPDX-License-Identifier: MIT */
/*
 * guard.h: the agent's outer process. It forks the worker and waits. However the worker ends, by
 * SIGKILL for example, the guard inherits the processes that the worker has left (both are child
 * subreapers), ends them, removes the job directory and exits. If the guard is killed, the worker
 * notices it by guard_fd and does the same. A SIGTERM to the guard comes there as a message of one
 * byte.
 */
#ifndef LAUNCHER_AGENT_HOST_GUARD_H
#define LAUNCHER_AGENT_HOST_GUARD_H

#include "common/fault.h"
#include "launcher/agent/host/job_directory.h"

#include <sys/types.h>

/* Forks. In the child, runs `worker` with its end of the socket pair and the guard's pid, and
 * returns its status. In the parent, returns the agent's exit status once the worker and all
 * descendants are gone. */
int guard_run(int (*worker)(int guard_fd, pid_t guard));

/* In the worker: tells the guard what to clean up; to be called before anything can be left there.
 * What the descriptors of `locks` lock (each may be -1) stays locked until no process of the job is
 * left, however the worker ends. The next call replaces them.
 * ML_ERR_SYSTEM: the guard is gone, or knows of nothing that it must remove. */
enum { GUARD_LOCKS = JOB_DIRECTORY_LOCKS + 2 };
int guard_tell(int guard_fd, const char *job_dir, const char *cgroup, const int locks[GUARD_LOCKS],
               struct fault *why);

/* In the worker, once nothing of the job runs: the guard sweeps /dev/shm and removes the job
 * directory while the worker takes leave of mlaunch. Nothing can be told after it. */
void guard_tell_end(int guard_fd);

#endif
