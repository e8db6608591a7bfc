/* SPDX-License-Identifier: MIT */
/*
 * soft_stop.h: a job that has been asked to stop by itself: by the signal of --stop-signal, by
 * `mlaunch kill --soft`, or on a host by one of its agents. The ranks get no signal; each host's
 * agent sets the mark that ml_should_stop() reads. Nobody is ended, unless the signal is one that
 * would have ended the job: then --grace is the limit.
 */
#ifndef LAUNCHER_RUN_JOB_SOFT_STOP_H
#define LAUNCHER_RUN_JOB_SOFT_STOP_H

#include "common/fault.h"

#include <stdbool.h>

struct event_base;
struct events_file;
struct job_round;
struct output;
struct plan;
struct soft_stop;

struct soft_stop_config {
    struct event_base *base;
    const struct plan *plan;
    const char *job; /* its id */
    struct output *output;
    struct events_file *events;
    void (*on_late)(void *arg); /* called once, on the loop: --grace is over */
    void *arg;
};

/* What the config points to must outlive it. ML_ERR_MEMORY. */
int soft_stop_open(struct soft_stop **out, const struct soft_stop_config *config,
                   struct fault *why);
void soft_stop_close(struct soft_stop *s); /* takes NULL */

/* Asks, and says so: `text` is by whom. `round` is the run under way, or NULL. signal: the one that
 * has asked, or 0. Only the first call has an effect. */
void soft_stop_ask(struct soft_stop *s, struct job_round *round, const char *text, int signal);
bool soft_stop_is_asked(const struct soft_stop *s);

/* All ranks of a run have started: they are told, if the job was asked before. */
void soft_stop_started(struct soft_stop *s, struct job_round *round);
/* The run is over, or is being ended by other means; `is_well`: by itself and with status 0. */
void soft_stop_end(struct soft_stop *s, bool is_well);

#endif
