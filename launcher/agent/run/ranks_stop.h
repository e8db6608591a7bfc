/* SPDX-License-Identifier: MIT */
/*
 * ranks_stop.h: the sequence of signals that ends ranks and all their descendants:
 *
 *     first signal ──half the grace──▶ SIGTERM ──grace──▶ SIGKILL, repeated ──▶ none is left
 *
 * If the first signal is SIGTERM, SIGKILL comes next. A second start can only make the sequence
 * faster, and sends no signal for the second time.
 */
#ifndef LAUNCHER_AGENT_RUN_RANKS_STOP_H
#define LAUNCHER_AGENT_RUN_RANKS_STOP_H

#include "common/fault.h"

struct agent;

/* Makes a->stop_timer, which is for all runs. ML_ERR_MEMORY. */
int ranks_stop_open(struct agent *a, struct fault *why);

/* Starts the sequence; `signal` has been sent when it returns. SIGKILL, or no grace: at once. */
void ranks_stop_begin(struct agent *a, int signal, int grace_ms);

/* The same with SIGTERM, if Slurm ends the job: the ranks get it after a moment, unless Slurm's own
 * has reached them by then. */
void ranks_stop_begin_slurm(struct agent *a, int grace_ms);
/* Slurm has sent SIGTERM to every process here: the ranks get no second one. */
void ranks_stop_on_slurm(struct agent *a);

/* Ends the sequence, because nothing of what it was for is left. */
void ranks_stop_end(struct agent *a);

/* For KILL: sends SIGKILL and does not wait until output has been read. */
void ranks_stop_hurry(struct agent *a);

/* For ASK: lets the ranks know that the job has been asked to stop (ml_should_stop). */
void ranks_stop_ask(struct agent *a);

/* For SIGNAL: sends to one process of each rank, the one that has a handler
 * (signal_target_linux.h); with --signal-children to the rank's process group. */
void ranks_stop_warn(struct agent *a, int signal);
/* Sends to the process group of a rank, if it runs here. */
void ranks_stop_signal_rank(struct agent *a, int rank, int signal);

/* For LEAVE: ends one rank, if it runs here: SIGTERM, and SIGKILL after the job's grace. */
void ranks_stop_leave(struct agent *a, int rank);

/* For PAUSE and RESUME: sends to the ranks and all their descendants. */
void ranks_stop_signal_all(struct agent *a, int signal);

#endif
