/* SPDX-License-Identifier: MIT */
/*
 * command_channel.h: an agent behind a command that gives a pipe to a program on another host:
 * srun, `kubectl exec -i`, `ip netns exec`. The command is a child on a socketpair. A thread reads
 * its stderr, so that the command never blocks on it, and waits for its end.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_COMMAND_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_COMMAND_CHANNEL_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

/* Starts srun (host->launch_method is LAUNCH_METHOD_SRUN) or the command of `config`, followed by
 * the agent's path and arguments. Ready with the agent's first byte. `config` must outlive the
 * channel. Returns ML_ERR_REFUSED if there is no such program, ML_ERR_SYSTEM if it cannot be
 * executed. */
int command_channel_open(struct channel **out, const struct host *host,
                         const struct channel_config *config, channel_ready_fn *ready, void *arg,
                         struct fault *why);

#endif
