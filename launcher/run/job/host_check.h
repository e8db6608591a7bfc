/* SPDX-License-Identifier: MIT */
/*
 * host_check.h: `--check quick`: looks at the hosts in a child process, while the caller's loop
 * goes on and the user can end the job.
 */
#ifndef LAUNCHER_RUN_JOB_HOST_CHECK_H
#define LAUNCHER_RUN_JOB_HOST_CHECK_H

#include "common/fault.h"
#include "launcher/input/plan/plan.h"

#include <jansson.h>
#include <stdbool.h>

struct event_base;

/* What the child calls: fitness_find() (launcher/tools/verify/fitness.h). */
typedef json_t *host_check_finder(const struct plan *p, struct fault *why);

/* *out: what `find` has returned, for the caller to release; NULL: is_over() has become true, and
 * the child has been ended. ML_ERR_SYSTEM, ML_ERR_MEMORY, and what `find` fails with. */
int host_check_run(json_t **out, host_check_finder *find, const struct plan *p,
                   struct event_base *base, bool (*is_over)(void *arg), void *arg,
                   struct fault *why);

#endif
