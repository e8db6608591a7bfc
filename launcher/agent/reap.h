/* SPDX-License-Identifier: MIT */
/* reap.h: ranks that end. */
#ifndef LAUNCHER_AGENT_REAP_H
#define LAUNCHER_AGENT_REAP_H

#include "common/fault.h"

struct agent;
struct agent_rank;

/* Takes every child that has ended: ranks, and orphans that became ours. Call it on SIGCHLD, and
 * any time. */
void reap_all(struct agent *a);

/* A rank that could not be started; `status` is 125, 126 or 127. */
void reap_failed_start(struct agent_rank *r, int status, const struct fault *why);

#endif
