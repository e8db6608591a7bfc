/* SPDX-License-Identifier: MIT */
/*
 * remote_agent.h: finds this build's agent on a host and starts it; copies it there if necessary.
 *
 * One exec request carries a line that every login shell (sh, bash, zsh, csh, fish) passes to
 * /bin/sh unchanged: within its single quotes, quotes, backslashes, newlines and ! are written in
 * octal. The line first prints a marker, which separates its output from that of the shell's
 * start-up files. Then it runs each existing candidate with --build until one is of this build. If
 * none is, it prints that, the machine's architecture and C library, and $HOME.
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_AGENT_H
#define LAUNCHER_WIRE_SSH_REMOTE_AGENT_H

#include "launcher/wire/channel/channel_config.h"
#include "launcher/wire/ssh/remote_command.h"

struct remote_agent {
    struct remote_command command;
    char first[4096]; /* the first bytes of its stdout */
    size_t first_size;
};

/* Tries config->agent alone if it is set. Otherwise tries config->local_agent's path, mlaunch-agent
 * in $PATH and ~/.cache/mlaunch/BUILD-PROCESSOR/, and copies agent, shim and runtime to the latter
 * if none of them is right. Returns once the agent has sent its first bytes. `a` must not move
 * until remote_agent_close. ML_ERR_REFUSED: no agent of this build can run there, with the remedy;
 * otherwise as remote_session_wait. */
int remote_agent_start(struct remote_agent *a, struct remote_session *s,
                       const struct channel_config *config, struct fault *why);

void remote_agent_close(struct remote_agent *a); /* takes one that never started */

#endif
