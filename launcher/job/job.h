/* SPDX-License-Identifier: MIT */
/* job.h: carries out a plan: opens the channels, starts the ranks, supervises them to the end. */
#ifndef LAUNCHER_JOB_JOB_H
#define LAUNCHER_JOB_JOB_H

#include "launcher/plan/plan.h"

/* Runs the whole job, restarts included, and returns mlaunch's exit status. Prints what went wrong
 * on stderr, the first failure first. Nothing of the job is left running on return. */
int job_run(const struct plan *p);

#endif
