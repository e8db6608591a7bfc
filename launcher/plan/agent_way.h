/* SPDX-License-Identifier: MIT */
/* agent_way.h: how each host's agent will be started: here, by SSH, srun or the user's command. */
#ifndef LAUNCHER_PLAN_AGENT_WAY_H
#define LAUNCHER_PLAN_AGENT_WAY_H

#include "launcher/options/options.h"
#include "launcher/plan/plan.h"

/* Sets host.way of the used hosts, and p->agent_command. Unless told otherwise: srun where the Slurm
 * job that we are in has the host, nothing for this machine, else SSH. */
int agent_way_settle(struct plan *p, const struct options *o, char *const *environment,
                     struct fault *why);

#endif
