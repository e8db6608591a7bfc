/* SPDX-License-Identifier: MIT */
/* agent_way.h: chooses how the agent of each host is started: here, by SSH, srun or the user's
 * command. */
#ifndef LAUNCHER_INPUT_PLAN_AGENT_WAY_H
#define LAUNCHER_INPUT_PLAN_AGENT_WAY_H

#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

/* Sets host.way of the hosts in use and the spare ones, and p->agent_command. Without
 * --agent-launcher and --agent-command: srun if the host belongs to the Slurm job that mlaunch runs
 * in, no channel for this machine, else SSH. Warns if srun is missing inside a Slurm job.
 * ML_ERR_ARGUMENT. */
int agent_way_settle(struct plan *p, const struct options *o, char *const *environment,
                     struct fault *why);

#endif
