/* SPDX-License-Identifier: MIT */
/*
 * remote_identity.h: the keys to log in with, in ssh's order: certificates of CertificateFile; the
 * agent's keys that IdentityFile names, then its others, unless IdentitiesOnly; the other files,
 * each before its certificate FILE-cert.pub (ssh's pubkey_prepare).
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_IDENTITY_H
#define LAUNCHER_WIRE_SSH_REMOTE_IDENTITY_H

#include "launcher/wire/ssh/remote_key_agent.h"

struct remote_identity {
    char *file;        /* with the private key, or its public half; NULL: the agent alone has it */
    char *certificate; /* a file, or NULL */
    char *public;      /* base64 of the key, or the certificate; NULL: unknown */
    int agent_key;     /* its number in the agent; -1: it is not there */
    bool is_named;     /* ssh_config names the file */
};

struct remote_identities {
    struct remote_identity *items;
    int count;
};

/* `agent`: or NULL. ML_ERR_MEMORY. */
int remote_identity_list(struct remote_identities *out, const struct remote_config *c,
                         const struct remote_key_agent *agent, struct fault *why);
/* Whether a certificate was made for a key, both in base64: libssh does not look at that. */
bool remote_identity_is_for(const char *certificate, const char *public);
void remote_identity_clear(struct remote_identities *l);

#endif
