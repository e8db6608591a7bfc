/* SPDX-License-Identifier: MIT */
/*
 * hang_watch.h: asks all hosts of a running job where its ranks are when it seems to hang, and
 * reports it once: a call has waited for --stall, no rank has written anything or begun a call for
 * so long, or --timeout is about to end the job.
 */
#ifndef LAUNCHER_RUN_STATE_HANG_WATCH_H
#define LAUNCHER_RUN_STATE_HANG_WATCH_H

#include "common/fault.h"

#include <jansson.h>

struct hang_watch;
struct job_round;

/* For the round, which must outlive the watch and whose session gets the questions; it passes the
 * answers on. All calls on the loop's thread. ML_ERR_MEMORY. */
int hang_watch_create(struct hang_watch **out, struct job_round *round, struct fault *why);
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
