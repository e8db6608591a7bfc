/* SPDX-License-Identifier: MIT */
/* reap.h: handles the ends of ranks. */
#ifndef LAUNCHER_AGENT_RUN_REAP_H
#define LAUNCHER_AGENT_RUN_REAP_H

#include "common/fault.h"

struct agent;
struct agent_rank;

/* Reaps every child that has ended: ranks, and orphans that the agent has inherited. Call it on
 * SIGCHLD; may be called at any time. */
void reap_all(struct agent *a);

/* Ends a rank that could not be started; `status` is 125, 126 or 127. */
void reap_failed_start(struct agent_rank *r, int status, const struct fault *why);

#endif
