/* SPDX-License-Identifier: MIT */
/* backend.h: which data path a job takes. */
#ifndef LAUNCHER_PLAN_BACKEND_H
#define LAUNCHER_PLAN_BACKEND_H

#include "common/fault.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"

/* Sets p->backend, backend_reason and local_net, once the ranks have their hosts. --backend wins
 * over the hostfile's. ML_ERR_ARGUMENT where a path can't serve the hosts. Says why "auto" chose
 * what it chose. */
int backend_settle(struct plan *p, const struct options *o, struct fault *why);

#endif
