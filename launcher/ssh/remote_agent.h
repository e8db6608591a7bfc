/* SPDX-License-Identifier: MIT */
/*
 * remote_agent.h: finds this build's agent on a host and starts it; copies it there if need be.
 *
 * One exec request carries a line that the user's login shell, whatever it is (sh, bash, zsh, csh,
 * fish), hands to /bin/sh unchanged: no quote, backslash, newline or ! stands within its single
 * quotes but in octal. It says a marker, so that what the shell's start-up files print is told
 * apart, and then runs each candidate that exists with --build until one is this build. If none is,
 * it says that, the machine's architecture and $HOME.
 */
#ifndef LAUNCHER_SSH_REMOTE_AGENT_H
#define LAUNCHER_SSH_REMOTE_AGENT_H

#include "launcher/channel/channel.h"
#include "launcher/ssh/remote_command.h"

struct remote_agent {
    struct remote_command command;
    char first[4096]; /* the first bytes of its stdout */
    size_t first_size;
};

/* Tries config->agent alone; or else config->local_agent's path, mlaunch-agent in $PATH and
 * ~/.cache/mlaunch/BUILD/, where it copies agent, shim and runtime if it has to. Returns once the
 * agent has said something. `a` must not move until remote_agent_close. */
int remote_agent_start(struct remote_agent *a, struct remote_session *s,
                       const struct channel_config *config, struct fault *why);

void remote_agent_close(struct remote_agent *a); /* takes one that never started */

/* The line above; malloc'ed. For tests, too. */
int remote_agent_line(char **out, const struct channel_config *config, struct fault *why);

#endif
