/* SPDX-License-Identifier: MIT */
/* srun_command.h: how srun starts one agent on each of some nodes of the Slurm job that mlaunch
 * runs in. */
#ifndef LAUNCHER_WIRE_CHANNEL_SRUN_COMMAND_H
#define LAUNCHER_WIRE_CHANNEL_SRUN_COMMAND_H

#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/host_list.h"

/* Adds the words of the command, to be followed by the agent's path. `environment`: the caller's,
 * which the agents get too if the first host is this machine. All hosts are in one component of a
 * heterogeneous job. */
int srun_command_words(struct string_list *out, const struct host *const *hosts, int count,
                       char *const *environment, struct fault *why);

/* srun's own environment: the caller's without the variables that would shape the step. The caller
 * frees *out; the strings in it are those of `environment`. */
int srun_command_environment(char ***out, char *const *environment, struct fault *why);

#endif
