/* SPDX-License-Identifier: MIT */
/*
 * remote_config_file.h: reads ssh_config files as they concern one host.
 *
 * mlaunch reads them itself instead of leaving it to libssh, because libssh 0.10 matches Host
 * against the name that HostName has set, so that a second block about a host is lost; and it has
 * no HostKeyAlias, no IdentitiesOnly, no `Match originalhost`, only one known_hosts file, and no -F
 * for the ssh that ProxyJump runs. Host, Match (all, host, originalhost, user, localuser, exec,
 * final), Include, quotes, tokens and ${VARIABLES} have the meaning of ssh_config(5). Keywords
 * without a place in enum remote_option are skipped. Two keywords never have an effect:
 * StrictHostKeyChecking (it is always `yes` here) and ConnectTimeout (mlaunch has an option of its
 * own).
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_CONFIG_FILE_H
#define LAUNCHER_WIRE_SSH_REMOTE_CONFIG_FILE_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/ssh/remote_config.h"
#include "launcher/wire/ssh/remote_wait.h"

#include <stdbool.h>

/* Reads `file` (ssh -F; it must exist, "none": no file), or else ~/.ssh/config and then
 * /etc/ssh/ssh_config. The user and the port of `host` have precedence over the files'.
 * ML_ERR_ARGUMENT names file and line of what cannot be read, or a file that others may write. May
 * run commands (Match exec), which are ended with the wait (remote_wait_for): ML_ERR_TIMEOUT,
 * ML_ERR_STATE. */
int remote_config_file_read(struct remote_config **out, const struct host *host, const char *file,
                            const struct remote_wait *wait, struct fault *why);

/* Whether a list of patterns, separated by commas, matches the name, in ssh_config or known_hosts:
 * one pattern does, and no negated one. The list is cut up. */
bool remote_config_file_list_matches(char *list, const char *name);

#endif
