/* SPDX-License-Identifier: MIT */
/*
 * plan_growth.h: what `mlaunch grow` adds to the plan of a job that runs: ranks, and hosts that the
 * job does not have. Such hosts come behind the plan's own, in front of the spare ones.
 */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_GROWTH_H
#define LAUNCHER_INPUT_PLAN_PLAN_GROWTH_H

#include "launcher/input/plan/plan.h"

struct plan_growth {
    int *hosts;     /* for each new host its index in plan.list */
    int host_count; /* at most that many: */
    int *ranks;     /* for each new rank the index that its host has, or will have, in plan.hosts */
    int rank_count;
};

/* Adds `count` ranks on host `index` of the plan. ML_ERR_ARGUMENT: the plan has no room for them;
 * ML_ERR_MEMORY. */
int plan_growth_add(struct plan_growth *g, const struct plan *p, int index, int count,
                    struct fault *why);

/* Adds `count` ranks on a host that the plan does not use. It is the one of plan.list that has the
 * name of `h`, or `h`, whose contents then belong to the list. The same errors, and ML_ERR_STATE:
 * it cannot be one of the job's. */
int plan_growth_add_host(struct plan_growth *g, struct plan *p, struct host *h, int count,
                         struct fault *why);

/* A copy of the plan as it is to be, with `where` as who is where: the caller frees where->hosts,
 * all else is the plan's. ML_ERR_MEMORY. */
int plan_growth_preview(struct plan *out, struct roster *where, const struct plan *p,
                        const struct plan_growth *g, struct fault *why);

/* Changes the plan, and returns the first new rank. */
int plan_growth_apply(struct plan *p, const struct plan_growth *g);

void plan_growth_clear(struct plan_growth *g);

#endif
