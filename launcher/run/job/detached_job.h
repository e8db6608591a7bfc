/* SPDX-License-Identifier: MIT */
/* detached_job.h: a job with --detach, from its plan to what the user is told of it. */
#ifndef LAUNCHER_RUN_JOB_DETACHED_JOB_H
#define LAUNCHER_RUN_JOB_DETACHED_JOB_H

#include "launcher/input/plan/plan.h"

/* ML_ERR_ARGUMENT: options that do not go with --detach, or --json without it. */
int detached_job_check(const struct options *o, struct fault *why);

/* Starts the job in the background, says so, and returns 0; or says why it could not be started,
 * and returns mlaunch's exit status. In the background it returns the job's, at its end. */
int detached_job_run(const struct options *o, struct plan *p, const char *id);

#endif
