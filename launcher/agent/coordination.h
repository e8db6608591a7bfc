/* SPDX-License-Identifier: MIT */
/*
 * coordination.h: the agent's side of the coordinator: the service itself where rank 0 lives, a
 * connection to it elsewhere, nothing with --backend none.
 */
#ifndef LAUNCHER_AGENT_COORDINATION_H
#define LAUNCHER_AGENT_COORDINATION_H

#include "common/fault.h"

#include <sys/types.h>

struct agent;
struct coordination;

/* On JOB. Where rank 0 lives it listens, and `address` (64 bytes) becomes "addr:port"; else "". */
int coordination_open(struct coordination **out, struct agent *a, char *address, struct fault *why);

/* On START: connects to a coordinator elsewhere. */
int coordination_connect(struct coordination *c, const char *address, struct fault *why);

/* The rank's first process has ended, or (pid 0) could not be started. */
void coordination_rank_exited(struct coordination *c, int rank, pid_t pid, const char *text);
void coordination_close(struct coordination *c); /* takes NULL */

#endif
