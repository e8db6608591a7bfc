/* SPDX-License-Identifier: MIT */
/* round_change.h: ranks that `mlaunch shrink` takes out of a job of --elastic, and ranks that
 * `mlaunch grow` adds to it. */
#ifndef LAUNCHER_RUN_ROUND_ROUND_CHANGE_H
#define LAUNCHER_RUN_ROUND_ROUND_CHANGE_H

#include "launcher/input/plan/plan_growth.h"
#include "launcher/input/values/rank_set.h"

struct job_round;
struct job_round_host;

/* The ranks are dead to the others at once, and are ended with the job's grace; nobody takes their
 * places, and nothing of their end is a failure. `by`: "by alice on host a". ML_ERR_STATE,
 * ML_ERR_ARGUMENT: the ranks cannot leave now, for a reason that the user is told; none does
 * then. */
int round_change_shrink(struct job_round *r, const struct rank_set *ranks, const char *by,
                        struct fault *why);
/* Whether all of them have ended. */
bool round_change_has_shrunk(const struct job_round *r, const struct rank_set *ranks);

/* Starts these ranks as newcomers: they become members by the others' next ml_repair. p: the
 * round's plan, which grows. Stores the number of the first. If some are on hosts that the job does
 * not have, that is -1, `wanted` is taken over, and on_hosts_came() follows: the plan grows once
 * all such hosts are ready, and nothing has happened if one is not. ML_ERR_STATE: this cannot be
 * now, for a reason that the user is told. */
int round_change_grow(struct job_round *r, struct plan *p, struct plan_growth *wanted,
                      const char *by, int *first, struct fault *why);
/* A host that is to come, h, has said HELLO, or its channel has ended. */
int round_change_host_greeted(struct job_round *r, struct fault *why);
void round_change_host_gone(struct job_round *r, struct job_round_host *h, const char *text);
/* An agent knows of more ranks, is ready, or has gone: starts the ranks that all know. */
void round_change_start(struct job_round *r);
/* Whether each of the `count` ranks from `first` on runs or has ended; *have_ended: one has. */
bool round_change_has_grown(const struct job_round *r, int first, int count, bool *have_ended);

#endif
