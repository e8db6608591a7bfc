/* SPDX-License-Identifier: MIT */
/*
 * hang_watch.h: asks all hosts of a running job where its ranks are when it seems to hang, and
 * reports it once: a call has waited for --stall, no rank has written anything or begun a call for
 * so long, or --timeout is about to end the job.
 */
#ifndef LAUNCHER_RUN_ROUND_HANG_WATCH_H
#define LAUNCHER_RUN_ROUND_HANG_WATCH_H

#include "launcher/input/plan/plan.h"

#include <jansson.h>

struct event_base;
struct events_file;
struct hang_watch;
struct output;

/* Borrowed: all must outlive the watch. */
struct hang_watch_config {
    struct event_base *base;
    const struct plan *plan;
    const char *job; /* the job's id */
    struct output *output;
    struct events_file *events;
    /* Sends a QUERY to the agent of that host, whose ANSWER goes to hang_watch_answer; takes over
     * the question. False: the host has no ranks that run. */
    bool (*ask)(int host, json_t *question, void *arg);
    void *arg;
};

/* All calls on the loop's thread. ML_ERR_MEMORY. */
int hang_watch_create(struct hang_watch **out, const struct hang_watch_config *config,
                      struct fault *why);
void hang_watch_destroy(struct hang_watch *w); /* takes NULL */

void hang_watch_begin(struct hang_watch *w); /* the ranks have been started */
void hang_watch_moved(struct hang_watch *w); /* a rank has written something */
/* The coordinator says that a call has waited for too long. */
void hang_watch_stalled(struct hang_watch *w);
void hang_watch_answer(struct hang_watch *w, int host, json_t *answer);
void hang_watch_lost(struct hang_watch *w, int host); /* it will not answer */

/* Makes a report, then calls `done`, at the latest after some seconds, and perhaps at once. */
void hang_watch_report(struct hang_watch *w, void (*done)(void *arg), void *arg);
/* The ranks are being ended: nothing more is asked, and no `done` is called. */
void hang_watch_end(struct hang_watch *w);

#endif
