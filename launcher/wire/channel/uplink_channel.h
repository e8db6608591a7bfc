/* SPDX-License-Identifier: MIT */
/* uplink_channel.h: the agent of a host that has called (launcher/wire/uplink/uplink_hub.h). */
#ifndef LAUNCHER_WIRE_CHANNEL_UPLINK_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_UPLINK_CHANNEL_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

/* Waits for the host, if it is not there yet, on the hub's loop, which is the caller's; `ready`
 * comes from there. ML_ERR_STATE: there is no hub. */
int uplink_channel_open(struct channel **out, const struct host *host,
                        const struct channel_config *config, channel_ready_fn *ready, void *arg,
                        struct fault *why);

#endif
