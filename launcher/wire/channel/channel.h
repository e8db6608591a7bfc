/* SPDX-License-Identifier: MIT */
/*
 * channel.h: the way to one host's agent. To the supervisor every agent is one non-blocking stream
 * socket with frames in both directions. What carries it depends on the host: a socketpair to a
 * child on this machine (local_channel.h), an SSH channel that a thread pumps to a socketpair
 * (module_channel.h), the standard streams of a command that starts the agent (command_channel.h),
 * a connection by which the host has called (uplink_channel.h), or one to the mlaunch that it has
 * called, for questions (head_channel.h).
 */
#ifndef LAUNCHER_WIRE_CHANNEL_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_CHANNEL_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

#include <stddef.h>

/* Opens the carrier that host->launch_method asks for. `config` and `host` must outlive the
 * channel. Returns an error only for what fails at once; everything else is reported through
 * `ready`. */
int channel_open(struct channel **out, const struct host *host, const struct channel_config *config,
                 channel_ready_fn *ready, void *arg, struct fault *why);

/* The socket to the agent's stdin and from its stdout, once ready. The channel owns it. */
int channel_fd(const struct channel *c);
/* A descriptor of it that is the caller's, to be asked for once. -1 with errno: there is none. */
int channel_take_fd(struct channel *c);

/* Fills `text` with the reason for the end as far as the carrier knows it: the agent's exit status
 * or signal, the end of its stderr, or the connection's error; without the host's name. Valid once
 * the socket has given end of file. May wait up to half a second for a process to be reaped. */
void channel_exit_reason(struct channel *c, char *text, size_t size);

/* Ends the channel in any state, without waiting for the far side (which then ends by itself), and
 * frees it. Takes NULL. */
void channel_close(struct channel *c);

#endif
