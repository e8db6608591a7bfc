/* SPDX-License-Identifier: MIT */
/* job_runs.h: the runs of a job, one after the other, with spare hosts and pauses between them. */
#ifndef LAUNCHER_RUN_JOB_JOB_RUNS_H
#define LAUNCHER_RUN_JOB_JOB_RUNS_H

#include "common/fault.h"
#include "launcher/run/job/job_supervisor.h"

/* All of the job but this is open. ML_ERR_MEMORY. */
int job_runs_open(struct job *j, struct fault *why);
void job_runs_close(struct job *j); /* also after an error */

/* Runs the loop until the last run has ended. Returns mlaunch's exit status. */
int job_runs_all(struct job *j);

/* Waits until all output has been written, however slow its reader is, unless the user or --timeout
 * asks for the end meanwhile, or has done so before and nothing is read. */
void job_runs_drain(struct job *j);

#endif
