/* SPDX-License-Identifier: MIT */
/* reap.h: ranks that end, what is said of it and to whom, and when all of it is over. */
#ifndef LAUNCHER_AGENT_REAP_H
#define LAUNCHER_AGENT_REAP_H

#include "common/fault.h"

#include <stddef.h>

struct agent;
struct rank;

/* Takes every child that has ended: ranks, and orphans that became ours. Call it on SIGCHLD, and
 * any time. */
void reap_all(struct agent *a);

/* A rank that could not be started; `status` is 125, 126 or 127. */
void rank_on_failure(struct rank *r, int status, const struct fault *why);

/* Some output of the rank has been sent: EXITED may have waited for it. */
void rank_on_output(struct rank *r);

/* If all ranks have ended: ends who is left of their descendants, and once nobody is, says DONE. */
void rank_check_done(struct agent *a);

/* "was killed by signal 9 (Killed) on host b (pid 4711)". */
void rank_epitaph(const struct rank *r, char *text, size_t size);

#endif
