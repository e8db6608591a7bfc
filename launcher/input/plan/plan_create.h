/* SPDX-License-Identifier: MIT */
/* plan_create.h: options and hosts become a plan. */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_CREATE_H
#define LAUNCHER_INPUT_PLAN_PLAN_CREATE_H

#include "common/fault.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

/* Makes the plan; nothing of `o` is kept by reference. Every mistake in the user's input that the
 * options' readers could not see is refused here: ML_ERR_ARGUMENT. `environment` is the caller's:
 * -x takes variables from it, and batch systems describe their allocations in it. Logs the choices
 * that it makes (log.h). *out is set on success only; free it with plan_destroy(). */
int plan_create(struct plan **out, const struct options *o, char *const *environment,
                struct fault *why);

#endif
