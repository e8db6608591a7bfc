/* SPDX-License-Identifier: MIT */
/* job_changes.h: `mlaunch shrink` and `grow` of one job, which change its plan and the run under
 * way. All on the loop. */
#ifndef LAUNCHER_RUN_CHANGE_JOB_CHANGES_H
#define LAUNCHER_RUN_CHANGE_JOB_CHANGES_H

#include "launcher/run/round/job_round.h"

struct job_changes;

/* All is borrowed. */
struct job_changes_config {
    struct event_base *base;
    struct plan *plan;
    const char *job;             /* its id */
    struct job_round **round;    /* the run under way; or NULL is there */
    void (*on_grown)(void *arg); /* the plan has more ranks, and perhaps more hosts */
    void *arg;
};

/* ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int job_changes_open(struct job_changes **out, const struct job_changes_config *config,
                     struct fault *why);
void job_changes_close(struct job_changes *c); /* takes NULL */

/* The run's on_rank_changed() and on_hosts_came(). Both take NULL. */
void job_changes_on_rank(struct job_changes *c);
void job_changes_on_hosts(struct job_changes *c, int first, const char *why);

#endif
