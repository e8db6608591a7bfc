/* SPDX-License-Identifier: MIT */
/*
 * channel.h: the way to one host's agent, whatever carries it: a socketpair to a child here, an SSH
 * channel pumped to a socketpair by a thread (ssh_channel.c), or the standard streams of a command
 * that starts the agent elsewhere (command_channel.c). To the supervisor every agent is one
 * non-blocking stream socket with frames in both directions.
 */
#ifndef LAUNCHER_CHANNEL_CHANNEL_H
#define LAUNCHER_CHANNEL_CHANNEL_H

#include "common/fault.h"
#include "launcher/hosts/host_list.h"

struct channel;

struct channel_config {
    const char *ssh_config;  /* -F FILE, or NULL */
    int connect_timeout_ms;  /* 10000 */
    const char *agent;       /* --agent PATH, or NULL */
    const char *local_agent; /* path of the agent of this build on this machine */
    const char *build;       /* its build id */
    char *const *command;    /* --agent-command's words, or NULL */
};

/* Called from the channel's own thread, or from channel_open_* itself, once: `ready` (why->code 0:
 * the descriptor is there and the agent has been started) or failed (why says which step and what
 * to do, but not the host's name: whoever prints it puts that in front). Must only pass the word on
 * (write to a pipe). */
typedef void channel_ready_fn(struct channel *c, const struct fault *why, void *arg);

/* Forks and executes the local agent. Ready on return. */
int channel_open_local(struct channel **out, const struct channel_config *config,
                       channel_ready_fn *ready, void *arg, struct fault *why);

/* Starts to connect to `host` over SSH in a thread of its own: resolve, connect, host key, log in,
 * find or copy the agent, execute it. Everything in `config` and `host` must outlive the channel.
 * Returns at once; all failures come through `ready`. */
int channel_open_ssh(struct channel **out, const struct host *host,
                     const struct channel_config *config, channel_ready_fn *ready, void *arg,
                     struct fault *why);

/* Starts srun (host->way is HOST_BY_SRUN) or the command of `config`, with the agent's path and
 * arguments behind it. Ready with the agent's first byte. `config` must outlive the channel. A
 * command that can't be executed is a failure at once. */
int channel_open_command(struct channel **out, const struct host *host,
                         const struct channel_config *config, channel_ready_fn *ready, void *arg,
                         struct fault *why);

/* Any of the three, by host->way. */
int channel_open(struct channel **out, const struct host *host, const struct channel_config *config,
                 channel_ready_fn *ready, void *arg, struct fault *why);

/* The stream to the agent's stdin and from its stdout, once ready; owned by the channel. */
int channel_fd(const struct channel *c);

/* Why the stream ended, as far as the carrier knows: the agent's exit status or signal, its stderr,
 * the connection's error. Fills `text`, without the host's name; valid once the stream has given
 * end of file. */
void channel_epitaph(struct channel *c, char *text, size_t size);

/* Ends whatever state it is in, without waiting for the far side (which then ends by itself), and
 * frees. Takes NULL. */
void channel_close(struct channel *c);

#endif
