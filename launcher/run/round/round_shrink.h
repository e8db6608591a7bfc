/* SPDX-License-Identifier: MIT */
/* round_shrink.h: ranks that `mlaunch shrink` takes out of a job of --elastic. They are dead to the
 * others at once, and are ended with the job's grace; nobody takes their places, and nothing of
 * their end is a failure. */
#ifndef LAUNCHER_RUN_ROUND_ROUND_SHRINK_H
#define LAUNCHER_RUN_ROUND_ROUND_SHRINK_H

#include "common/fault.h"
#include "launcher/input/values/rank_set.h"

struct job_round;

/* `by`: "by alice on host a". ML_ERR_STATE, ML_ERR_ARGUMENT: the ranks cannot leave now, for a
 * reason that the user is told; none does then. */
int round_shrink_begin(struct job_round *r, const struct rank_set *ranks, const char *by,
                       struct fault *why);

/* Whether all of them have ended. */
bool round_shrink_is_over(const struct job_round *r, const struct rank_set *ranks);

#endif
