/* SPDX-License-Identifier: MIT */
/* plan_binding.h: what the options that bind ranks mean together. */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_BINDING_H
#define LAUNCHER_INPUT_PLAN_PLAN_BINDING_H

#include "common/fault.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

/* Settles p->job.binding. ML_ERR_ARGUMENT: options contradict each other, or this build cannot bind
 * ranks. */
int plan_binding_settle(struct plan *p, const struct options *o, struct fault *why);

/* The line of --dry-run. */
void plan_binding_print(const struct plan *p);

#endif
