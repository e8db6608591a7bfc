/* SPDX-License-Identifier: MIT */
/* fitness.h: `--check quick`: which hosts of a job are not fit to run it. */
#ifndef LAUNCHER_TOOLS_VERIFY_FITNESS_H
#define LAUNCHER_TOOLS_VERIFY_FITNESS_H

#include "launcher/input/plan/plan.h"

#include <jansson.h>

/* Asks the hosts of the plan and its spare ones what `mlaunch verify --quick` asks, and judges them
 * by what the job needs. Returns an array with an object for each host that is not fit, for the
 * caller to release: {"host": index of plan.hosts, "is_slow": it can run the job, only not as fast
 * as the others, "is_lost": it was not reached, "text": what was found}. Blocks; call it with no
 * other event loop running. NULL with a reason in `why`: ML_ERR_MEMORY, ML_ERR_SYSTEM. */
json_t *fitness_find(const struct plan *p, struct fault *why);

#endif
