/* SPDX-License-Identifier: MIT */
/* head_channel.h: the way to a host that has joined a job, through the mlaunch which it has joined:
 * its door (question_door.h) passes questions on. */
#ifndef LAUNCHER_WIRE_CHANNEL_HEAD_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_HEAD_CHANNEL_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

struct channel;

/* channel_open() (channel.h) for a host that has a door. Calls `ready` at once. */
int head_channel_open(struct channel **out, const struct host *host, channel_ready_fn *ready,
                      void *arg, struct fault *why);

#endif
