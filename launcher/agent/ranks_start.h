/* SPDX-License-Identifier: MIT */
/* ranks_start.h: handles LAUNCH_START: forks the ranks, a few in each turn of the loop, so that
 * output, ends of ranks and frames are handled meanwhile. */
#ifndef LAUNCHER_AGENT_RANKS_START_H
#define LAUNCHER_AGENT_RANKS_START_H

#include "common/fault.h"

#include <stddef.h>

struct agent;

/* Does what does not depend on START, while mlaunch answers READY: all of it if no other host has a
 * say. A failure is reported at START. */
void ranks_start_ahead(struct agent *a);

/* The payload of START. A failure is reported as LOST, and the job is stopped. */
void ranks_start(struct agent *a, const char *text, size_t size);

/* mlaunch has decided on a rank that has ended: another process takes its place, which is the
 * number-th after the first, or with number 0 none does. Ranks of other hosts are ignored. */
void ranks_start_again(struct agent *a, int rank, int number);

/* GROW has added a rank to the job: the coordinator, the ranks and the processes that start from
 * now on are told. If it is one of this host, ranks_start_again() starts it. ML_ERR_SYSTEM,
 * ML_ERR_MEMORY. */
int ranks_start_grow(struct agent *a, struct fault *why);

/* After a pause: continues to start ranks. */
void ranks_start_resume(struct agent *a);

#endif
