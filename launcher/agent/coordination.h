/* SPDX-License-Identifier: MIT */
/*
 * coordination.h: the agent's side of the coordinator: the service itself on the host of rank 0, a
 * connection to it on the others, nothing with --backend none.
 */
#ifndef LAUNCHER_AGENT_COORDINATION_H
#define LAUNCHER_AGENT_COORDINATION_H

#include "common/fault.h"

#include <sys/types.h>

struct agent;
struct coordination;

/* For JOB. On the host of rank 0 it listens and stores "addr:port" in `address` (64 bytes), on the
 * others "". */
int coordination_open(struct coordination **out, struct agent *a, char *address, struct fault *why);

/* For START: connects to a coordinator on another host; does nothing if it is here. */
int coordination_connect(struct coordination *c, const char *address, struct fault *why);

/* Reports that a rank's first process has ended or (pid 0) could not be started; `text` says
 * how. */
void coordination_rank_exited(struct coordination *c, int rank, pid_t pid, const char *text);
/* Reports what ranks wait for, in NOTEs, if the coordinator is here. */
void coordination_tell_waits(struct coordination *c);
void coordination_close(struct coordination *c); /* takes NULL */

#endif
