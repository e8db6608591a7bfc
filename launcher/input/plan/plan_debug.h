/* SPDX-License-Identifier: MIT */
/* plan_debug.h: --wrap, --gdb and --chaos as parts of a plan. */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_DEBUG_H
#define LAUNCHER_INPUT_PLAN_PLAN_DEBUG_H

#include "launcher/input/plan/plan.h"

/* Call it when the ranks have been placed. ML_ERR_ARGUMENT: a value is malformed, or names
 * ranks or hosts that the job does not have. */
int plan_debug_settle(struct plan *p, const struct options *o, struct fault *why);

/* Prints it, for --dry-run. */
void plan_debug_print(const struct plan *p);

#endif
