/* SPDX-License-Identifier: MIT */
/* backend.h: chooses the data path of a job. */
#ifndef LAUNCHER_INPUT_PLAN_BACKEND_H
#define LAUNCHER_INPUT_PLAN_BACKEND_H

#include "common/fault.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

/* Sets p->backend, backend_reason, local_net, secure and the RDMA choice, once the ranks have their
 * hosts. --backend wins over the hostfile's. Logs why "auto" chose what it chose. ML_ERR_ARGUMENT
 * if the path cannot serve the hosts. */
int backend_settle(struct plan *p, const struct options *o, struct fault *why);

/* What --backend or else the hosts' file asks for; BACKEND_AUTO: nothing. ML_ERR_ARGUMENT. */
int backend_of_hosts(enum backend_choice *out, const struct host_list *l, const struct options *o,
                     struct fault *why);

#endif
