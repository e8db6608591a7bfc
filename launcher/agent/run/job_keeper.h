/* SPDX-License-Identifier: MIT */
/* job_keeper.h: with --keep 2, the agent's child that holds copies for the ranks of another host
 * (keeper/keeper_child.h): it is started with the job, and again if it ends. */
#ifndef LAUNCHER_AGENT_RUN_JOB_KEEPER_H
#define LAUNCHER_AGENT_RUN_JOB_KEEPER_H

#include "common/fault.h"

struct agent;

/* Starts it, if the job has one. ML_ERR_SYSTEM. */
int job_keeper_open(struct agent *a, struct fault *why);

/* It has ended, as `status` of waitpid says: starts another one, and tells the launcher. */
void job_keeper_again(struct agent *a, int status);

/* Ends it, if it runs. What was known of others stays. */
void job_keeper_close(struct agent *a);

#endif
