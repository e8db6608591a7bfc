/* SPDX-License-Identifier: MIT */
/* start.h: LAUNCH_START: forks the ranks, a few in each turn of the loop, so that their output,
 * their ends and the launcher are heard meanwhile. */
#ifndef LAUNCHER_AGENT_START_H
#define LAUNCHER_AGENT_START_H

#include <stddef.h>

struct agent;

void start_job(struct agent *a, const char *text, size_t size);

/* After a pause: goes on with ranks that have not been started yet. */
void start_resume(struct agent *a);

#endif
