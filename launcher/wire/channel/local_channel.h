/* SPDX-License-Identifier: MIT */
/* local_channel.h: the agent of this machine, a child on a socketpair. Its stderr is mlaunch's. */
#ifndef LAUNCHER_WIRE_CHANNEL_LOCAL_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_LOCAL_CHANNEL_H

#include "launcher/wire/channel/channel_config.h"

/* Starts the local agent; ready on return. ML_ERR_SYSTEM: it cannot be executed. */
int local_channel_open(struct channel **out, const struct channel_config *config,
                       channel_ready_fn *ready, void *arg, struct fault *why);

#endif
