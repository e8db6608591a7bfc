/* SPDX-License-Identifier: MIT */
/*
 * stop.h: the ladder by which ranks and all their descendants are ended:
 *
 *     first signal ──half the grace──▶ SIGTERM ──grace──▶ SIGKILL, again and again ──▶ nobody left
 *
 * (from SIGTERM straight to SIGKILL if that was the first). Starting again only ever makes it
 * faster.
 */
#ifndef LAUNCHER_AGENT_STOP_H
#define LAUNCHER_AGENT_STOP_H

#include "common/fault.h"

struct agent;

/* Makes the timer. ML_ERR_MEMORY. */
int stop_open(struct agent *a, struct fault *why);
void stop_close(struct agent *a);

/* The signal goes out before it returns. `signal` SIGKILL or no grace: at once. */
void stop_start(struct agent *a, int signal, int grace_ms);

/* SIGKILL, and no waiting for a reader. */
void stop_hurry(struct agent *a);

/* Sends to the ranks' process groups, no descendants beyond: SIGNAL. */
void stop_signal_ranks(struct agent *a, int signal);

/* Sends to the ranks and to all that has come out of them: PAUSE, RESUME. */
void stop_signal_all(struct agent *a, int signal);

#endif
