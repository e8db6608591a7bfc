/* SPDX-License-Identifier: MIT */
/* worker.h: the agent's inner process, which forks the ranks: its event loop and the frames that
 * the launcher sends. */
#ifndef LAUNCHER_AGENT_WORKER_H
#define LAUNCHER_AGENT_WORKER_H

#include <sys/types.h>

/* Runs the job that the launcher sends and returns the exit status. For guard_run. */
int worker_run(int guard_fd, pid_t guard);

#endif
