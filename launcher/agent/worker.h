/* SPDX-License-Identifier: MIT */
/* worker.h: the agent's inner process, which forks the ranks: its loop, and what comes on the
 * channel. */
#ifndef LAUNCHER_AGENT_WORKER_H
#define LAUNCHER_AGENT_WORKER_H

#include <sys/types.h>

/* Runs the job that the launcher sends; returns the exit status. As guard_run wants it. */
int worker_run(int guard_fd, pid_t guard);

#endif
