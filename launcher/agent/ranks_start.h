/* SPDX-License-Identifier: MIT */
/* ranks_start.h: handles LAUNCH_START: forks the ranks, a few in each turn of the loop, so that
 * output, ends of ranks and frames are handled meanwhile. */
#ifndef LAUNCHER_AGENT_RANKS_START_H
#define LAUNCHER_AGENT_RANKS_START_H

#include <stddef.h>

struct agent;

/* The payload of START. A failure is reported as LOST, and the job is stopped. */
void ranks_start(struct agent *a, const char *text, size_t size);

/* After a pause: continues to start ranks. */
void ranks_start_resume(struct agent *a);

#endif
