/* SPDX-License-Identifier: MIT */
/* remote_config.h: what ssh_config says about a host (remote_share.h asks for it). */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_CONFIG_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_CONFIG_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"

#include <stdbool.h>
#include <stddef.h>

enum remote_option {
    REMOTE_HOSTNAME,
    REMOTE_USER,
    REMOTE_PORT,
    REMOTE_HOST_KEY_ALIAS,
    REMOTE_PROXY_COMMAND, /* never set together with PROXY_JUMP: the first of the two wins */
    REMOTE_PROXY_JUMP,
    REMOTE_STRICT_HOST_KEY,
    REMOTE_IDENTITIES_ONLY,
    REMOTE_IDENTITY_AGENT,
    REMOTE_ADDRESS_FAMILY,
    REMOTE_BIND_ADDRESS,
    REMOTE_BIND_INTERFACE,
    REMOTE_PUBKEY_AUTHENTICATION,
    REMOTE_PREFERRED_AUTHENTICATIONS,
    REMOTE_RSA_SIZE,
    REMOTE_CIPHERS, /* this one and those that follow are lists of algorithms for libssh; NULL: as
                     * ssh and libssh have them by default */
    REMOTE_MACS,
    REMOTE_KEX,
    REMOTE_HOST_KEY_ALGORITHMS,
    REMOTE_PUBKEY_ALGORITHMS,
    REMOTE_COMPRESSION,
    REMOTE_OPTIONS /* how many */
};

struct remote_config {
    char *name;                      /* the host as the user wrote it, without user and brackets */
    char *file;                      /* --ssh-config, or NULL */
    char *option[REMOTE_OPTIONS];    /* NULL: not set. HOSTNAME, USER and PORT are always set */
    struct string_list identities;   /* IdentityFile, expanded, in order */
    bool has_default_identities;     /* none is set, these are those that ssh looks for then */
    struct string_list certificates; /* CertificateFile, expanded */
    struct string_list known_hosts;  /* files, expanded, the user's first */
    struct string_list revoked;      /* RevokedHostKeys, expanded */
    int port;
};

void remote_config_destroy(struct remote_config *c); /* takes NULL */

/* `text` with ~, ${VARIABLES} and %-tokens replaced; freed by the caller. ML_ERR_ARGUMENT: an
 * unknown token or variable. */
int remote_config_expand(char **out, const struct remote_config *c, const char *text,
                         struct fault *why);

/* The directory that ~ and %d stand for, and the name of the user who runs this process. Valid as
 * long as the process; any thread may call. */
const char *remote_config_home(void);
const char *remote_config_local_user(void);

/* "ssh -F FILE user@host": what the user would type to log in there. */
void remote_config_command(const struct remote_config *c, char *text, size_t size);

#endif
