/* SPDX-License-Identifier: MIT */
/* job.h: carries out a plan: starts the ranks on its hosts and supervises them to the end. */
#ifndef LAUNCHER_RUN_JOB_JOB_H
#define LAUNCHER_RUN_JOB_JOB_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/job/host_check.h"

struct output_sink;
struct rank_results;

/* Who gets what of a job; NULL: the terminal does, and nobody else is told. On the loop. */
struct job_config {
    void (*on_started)(void *arg); /* all ranks have started; again after a restart */
    void (*on_written)(void *arg); /* output has been written */
    void *arg;
    const struct output_sink *sink;     /* gets what the ranks write first */
    const struct rank_results *results; /* the hosts are independent */
    host_check_finder *check;           /* for --check; NULL: hosts are not looked at */
};

/* Runs the whole job, restarts included, and returns mlaunch's exit status. A spare host may have
 * the place of another in the plan then. What went wrong has
 * been printed to standard error, the first failure first. On return nothing of the job is left
 * running, except on hosts that were lost. Call it once, from the main thread: it takes over the
 * process's signals. id: of the job, from job_identity_name(). config: or NULL. */
int job_run(struct plan *p, const char *id, const struct job_config *config);

#endif
