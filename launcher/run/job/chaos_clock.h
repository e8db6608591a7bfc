/* SPDX-License-Identifier: MIT */
/*
 * chaos_clock.h: carries out a chaos_plan.h at its times. Each action happens once, even if the job
 * is started again; one whose target is not there is announced as such. All on one loop.
 */
#ifndef LAUNCHER_RUN_JOB_CHAOS_CLOCK_H
#define LAUNCHER_RUN_JOB_CHAOS_CLOCK_H

#include "launcher/input/values/chaos_plan.h"

#include <jansson.h>

struct chaos_clock;
struct event_base;

/* What the actions act upon. */
struct chaos_job {
    int size; /* ranks */
    /* Sends the rank's processes a signal. False: the rank does not run. */
    bool (*signal)(int rank, int signal, void *arg);
    /* Whether there is a connection to a host of that name; and ends it. */
    bool (*has_host)(const char *host, void *arg);
    void (*cut)(const char *host, void *arg);
    /* Announces what is about to happen, to the user and (takes `event` over) as an event; NULL:
     * nothing has happened. */
    void (*say)(const char *text, json_t *event, void *arg);
    void *arg;
};

/* The times begin now. `plan` must outlive the clock. ML_ERR_MEMORY. */
int chaos_clock_start(struct chaos_clock **out, struct event_base *base,
                      const struct chaos_plan *plan, const struct chaos_job *job,
                      struct fault *why);
void chaos_clock_stop(struct chaos_clock *c); /* takes NULL */

#endif
