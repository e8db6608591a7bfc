/* SPDX-License-Identifier: MIT */
/* job_end.h: why and how a job ends before its ranks have ended by themselves: the user's signals,
 * --timeout, output that nobody reads; and pauses. All calls on the loop's thread. */
#ifndef LAUNCHER_RUN_JOB_JOB_END_H
#define LAUNCHER_RUN_JOB_JOB_END_H

#include "common/fault.h"
#include "launcher/base/process/signal_sender.h"
#include "launcher/run/job/job_supervisor.h"

/* j->base, j->plan and j->presence are there. ML_ERR_MEMORY. */
int job_end_open(struct job *j, struct fault *why);
void job_end_close(struct job *j); /* also after an error */

/* Ends the run under way; no further one will be started. */
void job_end_stop(struct job *j, enum stop_cause cause, int signal);

/* For signals_open(), soft_stop_open() and a run's on_asked; arg: the job. */
void job_end_on_signal(int signal, const struct signal_sender *from, void *arg);
void job_end_on_late_stop(void *arg); /* the ranks have had --grace to stop by themselves */
void job_end_on_asked(const char *text, void *arg);

#endif
