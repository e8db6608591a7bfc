/* SPDX-License-Identifier: MIT */
/* worker.h: the agent's inner process, which forks the ranks: its loop, and what comes on the
 * channel. */
#ifndef LAUNCHER_AGENT_WORKER_H
#define LAUNCHER_AGENT_WORKER_H

#include <jansson.h>
#include <sys/types.h>

struct agent;

/* Runs the job that the launcher sends; returns the exit status. As guard_run wants it. */
int worker_run(int guard_fd, pid_t guard);

/* A line for the user; `level` is "error", "warn" or "info". */
void worker_note(struct agent *a, const char *level, const char *text);

/* The job can't go on as it should: tells the launcher. */
void worker_lost(struct agent *a, const char *text);

/* All is over: cleans up and says so; takes over `survivors`. */
void worker_done(struct agent *a, json_t *survivors);

#endif
