/* SPDX-License-Identifier: MIT */
/*
 * done.h: when all of it is over. Whatever may have ended a rank, or sent its last words, calls
 * agent_check_soon (agent.h); then it is looked, once in a turn of the loop, whose EXITED can go,
 * and if all ranks have ended, who is left of their descendants: these are ended, and once nobody
 * is left, everything is removed and DONE said.
 */
#ifndef LAUNCHER_AGENT_DONE_H
#define LAUNCHER_AGENT_DONE_H

#include "common/fault.h"

struct agent;

/* Makes a->check_event. ML_ERR_MEMORY. */
int done_open(struct agent *a, struct fault *why);

#endif
