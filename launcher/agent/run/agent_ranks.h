/* SPDX-License-Identifier: MIT */
/* agent_ranks.h: makes the ranks of this host for a run, and frees them. */
#ifndef LAUNCHER_AGENT_RUN_AGENT_RANKS_H
#define LAUNCHER_AGENT_RUN_AGENT_RANKS_H

#include "common/fault.h"

struct agent;

/* Makes the job's ranks, which wait, and take input if they are to get any. ML_ERR_MEMORY. */
int agent_ranks_open(struct agent *a, struct fault *why);
/* Closes their streams, and frees them. Takes an agent without a job. */
void agent_ranks_close(struct agent *a);

#endif
