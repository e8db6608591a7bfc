/* SPDX-License-Identifier: MIT */
/* job.h: carries out a plan: starts the ranks on its hosts and supervises them to the end. */
#ifndef LAUNCHER_RUN_JOB_JOB_H
#define LAUNCHER_RUN_JOB_JOB_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/job/job_config.h"

/* Runs the whole job, restarts included, and returns mlaunch's exit status. A spare host may have
 * the place of another in the plan then. What went wrong has
 * been printed to standard error, the first failure first. On return nothing of the job is left
 * running, except on hosts that were lost. Call it once, from the main thread: it takes over the
 * process's signals. id: of the job, from job_identity_name(). config: or NULL. */
int job_run(struct plan *p, const char *id, const struct job_config *config);

#endif
