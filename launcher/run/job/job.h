/* SPDX-License-Identifier: MIT */
/* job.h: carries out a plan: starts the ranks on its hosts and supervises them to the end. */
#ifndef LAUNCHER_RUN_JOB_JOB_H
#define LAUNCHER_RUN_JOB_JOB_H

#include "launcher/input/plan/plan.h"

/* Somebody who is told how the job gets on, on the loop. */
struct job_watch {
    void (*on_started)(void *arg); /* all ranks have started; again after a restart */
    void (*on_written)(void *arg); /* output has been written */
    void *arg;
};

/* Runs the whole job, restarts included, and returns mlaunch's exit status. A spare host may have
 * the place of another in the plan then. What went wrong has
 * been printed to standard error, the first failure first. On return nothing of the job is left
 * running, except on hosts that were lost. Call it once, from the main thread: it takes over the
 * process's signals. id: of the job, from job_identity_name(). watch: or NULL. */
int job_run(struct plan *p, const char *id, const struct job_watch *watch);

#endif
