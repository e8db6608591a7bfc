/* SPDX-License-Identifier: MIT */
/* launch_method.h: chooses how the agent of each host is started: here, by SSH, srun or the user's
 * command. */
#ifndef LAUNCHER_INPUT_PLAN_LAUNCH_METHOD_H
#define LAUNCHER_INPUT_PLAN_LAUNCH_METHOD_H

#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

/* Sets host.launch_method of the hosts in use and the spare ones, and p->agent_command. Without
 * --agent-launcher and --agent-command: srun if the host belongs to the Slurm job that mlaunch runs
 * in, no channel for this machine, else SSH. Warns if srun is missing inside a Slurm job.
 * ML_ERR_ARGUMENT. */
int launch_method_resolve(struct plan *p, const struct options *o, char *const *environment,
                          struct fault *why);

/* Sets launch_method of a host that comes while the job runs. ML_ERR_STATE: it cannot, since it is
 * the others that call mlaunch; ML_ERR_ARGUMENT. */
int launch_method_resolve_one(const struct plan *p, struct host *h, struct fault *why);

#endif
