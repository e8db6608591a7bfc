/* SPDX-License-Identifier: MIT */
/*
 * detached_job.h: `--detach`: mlaunch continues in the background, in a session of its own, with a
 * log in place of its standard output and standard error, and returns here once all ranks have
 * started.
 *
 *     mlaunch ── fork ──▶ mlaunch: runs the job, writes the log
 *        │ ◀── a byte: all ranks have started; or the end: what the log has is printed
 *        ▼
 *     exit status
 */
#ifndef LAUNCHER_RUN_JOB_DETACHED_JOB_H
#define LAUNCHER_RUN_JOB_DETACHED_JOB_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/job/host_check.h"

/* ML_ERR_ARGUMENT: options that do not go with --detach, or --json without it. */
int detached_job_check(const struct options *o, struct fault *why);

/* Starts the job in the background, says so, and returns 0; or says why it could not be started,
 * and returns mlaunch's exit status. In the background it returns the job's, at its end. Call it
 * before there are threads. check: as in struct job_config. */
int detached_job_run(const struct options *o, struct plan *p, const char *id,
                     host_check_finder *check);

#endif
