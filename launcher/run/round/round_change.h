/* SPDX-License-Identifier: MIT */
/* round_change.h: ranks that `mlaunch shrink` takes out of a job of --elastic, and ranks that
 * `mlaunch grow` adds to it. */
#ifndef LAUNCHER_RUN_ROUND_ROUND_CHANGE_H
#define LAUNCHER_RUN_ROUND_ROUND_CHANGE_H

#include "common/fault.h"
#include "launcher/input/values/rank_set.h"

struct job_round;

/* The ranks are dead to the others at once, and are ended with the job's grace; nobody takes their
 * places, and nothing of their end is a failure. `by`: "by alice on host a". ML_ERR_STATE,
 * ML_ERR_ARGUMENT: the ranks cannot leave now, for a reason that the user is told; none does
 * then. */
int round_change_shrink(struct job_round *r, const struct rank_set *ranks, const char *by,
                        struct fault *why);
/* Whether all of them have ended. */
bool round_change_has_shrunk(const struct job_round *r, const struct rank_set *ranks);

/* Whether the host that `host` of the plan's hosts names can get another rank. ML_ERR_STATE: it
 * cannot, for a reason that the user is told. */
int round_change_may_grow(const struct job_round *r, int host, struct fault *why);
/* Starts the ranks from `first` on, by which the plan has grown, as newcomers: they become members
 * by the others' next ml_repair. */
void round_change_grow(struct job_round *r, int first, const char *by);
/* An agent knows of more ranks, or has gone: starts those that all know. */
void round_change_start(struct job_round *r);
/* Whether each of the `count` ranks from `first` on runs or has ended; *have_ended: one has. */
bool round_change_has_grown(const struct job_round *r, int first, int count, bool *have_ended);

#endif
