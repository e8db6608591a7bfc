/* SPDX-License-Identifier: MIT */
/* srun_command.h: how srun starts one agent on one node of the Slurm job that we are in. */
#ifndef LAUNCHER_CHANNEL_SRUN_COMMAND_H
#define LAUNCHER_CHANNEL_SRUN_COMMAND_H

#include "launcher/hosts/host_list.h"
#include "launcher/text/string_list.h"

/* Adds the words up to where the agent's path follows. `environment`: the caller's. */
int srun_command_words(struct string_list *out, const struct host *host, char *const *environment,
                       struct fault *why);

/* srun's own environment: the caller's but for the variables that would shape the step. *out is the
 * caller's to free; the strings in it are those of `environment`. */
int srun_command_environment(char ***out, char *const *environment, struct fault *why);

#endif
