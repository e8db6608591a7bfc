/* SPDX-License-Identifier: MIT */
/*
 * remote_config.h: what ssh_config says of a host.
 *
 * Read here and not by libssh, because libssh 0.10 matches Host against the name that HostName has
 * changed, so that a second block about a host is lost, and knows no HostKeyAlias, no
 * IdentitiesOnly, no `Match originalhost`, one known_hosts file, and no -F for what ProxyJump runs.
 * Host, Match (all, host, originalhost, user, localuser, exec, final), Include, quotes, tokens and
 * ${VARIABLES} mean what ssh_config(5) says; keywords that aren't in the list below are skipped.
 * Never asked for: StrictHostKeyChecking (it is always `yes` here) and ConnectTimeout (mlaunch has
 * its own).
 */
#ifndef LAUNCHER_SSH_REMOTE_CONFIG_H
#define LAUNCHER_SSH_REMOTE_CONFIG_H

#include "common/fault.h"
#include "launcher/hosts/host_list.h"
#include "launcher/text/string_list.h"

enum remote_option {
    REMOTE_HOSTNAME,
    REMOTE_USER,
    REMOTE_PORT,
    REMOTE_HOST_KEY_ALIAS,
    REMOTE_PROXY_COMMAND, /* or PROXY_JUMP: the first of the two in the files counts */
    REMOTE_PROXY_JUMP,
    REMOTE_USER_KNOWN_HOSTS,   /* as written: files separated by spaces */
    REMOTE_GLOBAL_KNOWN_HOSTS, /* likewise */
    REMOTE_IDENTITIES_ONLY,
    REMOTE_IDENTITY_AGENT,
    REMOTE_ADDRESS_FAMILY,
    REMOTE_BIND_ADDRESS,
    REMOTE_CIPHERS, /* from here on: handed to libssh as they are */
    REMOTE_MACS,
    REMOTE_KEX,
    REMOTE_HOST_KEY_ALGORITHMS,
    REMOTE_PUBKEY_ALGORITHMS,
    REMOTE_COMPRESSION,
    REMOTE_OPTIONS /* how many */
};

struct remote_config {
    char *name;                     /* the host as the user wrote it, without user and brackets */
    char *file;                     /* --ssh-config, or NULL */
    char *option[REMOTE_OPTIONS];   /* NULL: not said. HOSTNAME, USER and PORT are always there */
    struct string_list identities;  /* IdentityFile, expanded, in order; empty: the defaults */
    struct string_list known_hosts; /* files, expanded, the user's first */
    int port;
};

/* Reads `file` (ssh -F; it must exist, "none": no file), or ~/.ssh/config and then
 * /etc/ssh/ssh_config, as far as it concerns `host`, whose own user and port come first.
 * ML_ERR_ARGUMENT names file and line of what can't be read. May run commands (Match exec). */
int remote_config_read(struct remote_config **out, const struct host *host, const char *file,
                       struct fault *why);
void remote_config_destroy(struct remote_config *c); /* takes NULL */

/* `text` with ~, ${VARIABLES} and %-tokens replaced; malloc'ed. ML_ERR_ARGUMENT: an unknown token.
 */
int remote_config_expand(char **out, const struct remote_config *c, const char *text,
                         struct fault *why);

/* The directory that ~ and %d stand for; valid as long as the process. */
const char *remote_config_home(void);
/* The user who runs this process. */
const char *remote_config_local_user(void);

/* "ssh -F FILE user@host": what the user would type to get there. */
void remote_config_command(const struct remote_config *c, char *text, size_t size);

#endif
