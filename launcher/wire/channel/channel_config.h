/* SPDX-License-Identifier: MIT */
/* channel_config.h: what every way to an agent is given. */
#ifndef LAUNCHER_WIRE_CHANNEL_CHANNEL_CONFIG_H
#define LAUNCHER_WIRE_CHANNEL_CHANNEL_CONFIG_H

#include "common/fault.h"

#include <stdbool.h>

struct channel;
struct uplink_hub;

struct channel_config {
    const char *ssh_config;  /* -F FILE, or NULL */
    int connect_timeout_ms;  /* 10000 */
    const char *agent;       /* --agent PATH, or NULL */
    const char *local_agent; /* path of the agent of this build on this machine */
    const char *build;       /* its build id */
    char *const *command;    /* --agent-command's words, or NULL */
    bool with_copier;        /* the host needs mlaunch-copier too */
    bool with_entry;         /* … mlaunch-entry, likewise */
    struct uplink_hub *hub;  /* which all hosts but this machine call; or NULL */
};

/* Called once, from the channel's own thread or from within channel_open. With why->code 0 the
 * channel is ready: it has a descriptor, and the agent has been started. Otherwise opening it
 * failed, and `why` names the step and the remedy, but not the host, whose name the code that
 * prints it puts in front. The function must only pass the result on, for example by writing to a
 * pipe. */
typedef void channel_ready_fn(struct channel *c, const struct fault *why, void *arg);

#endif
