/* SPDX-License-Identifier: MIT */
/*
 * chaos_clock.h: carries out a chaos_plan.h at its times. Each action happens once, even if the job
 * is started again; one whose target is not there is announced as such. All on one loop.
 */
#ifndef LAUNCHER_RUN_JOB_CHAOS_CLOCK_H
#define LAUNCHER_RUN_JOB_CHAOS_CLOCK_H

#include "launcher/input/values/chaos_plan.h"

struct chaos_clock;
struct event_base;
struct events_file;
struct job_round;
struct output;

/* What the actions act upon. */
struct chaos_job {
    const char *id;                 /* the job's */
    int size;                       /* ranks */
    struct job_round *const *round; /* the run under way; *round is NULL if there is none */
    struct output *output;          /* what is about to happen is said there first, */
    struct events_file *events;     /* and written as an event */
};

/* The times begin now. `plan`, and what `job` points to, must outlive the clock. ML_ERR_MEMORY. */
int chaos_clock_start(struct chaos_clock **out, struct event_base *base,
                      const struct chaos_plan *plan, const struct chaos_job *job,
                      struct fault *why);
void chaos_clock_stop(struct chaos_clock *c); /* takes NULL */

#endif
