/* SPDX-License-Identifier: MIT */
/*
 * remote_host_key.h: verifies a host's identity, as with StrictHostKeyChecking yes: the key must be
 * in one of the known_hosts files, under HostKeyAlias or the host's name. With `no` or `off` any
 * key will do that RevokedHostKeys does not name. Nothing is ever added to a file. Certificates of
 * hosts (@cert-authority) are ignored.
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_HOST_KEY_H
#define LAUNCHER_WIRE_SSH_REMOTE_HOST_KEY_H

#include "launcher/wire/ssh/reach/remote_config.h"
#include "launcher/wire/ssh/reach/remote_wait.h"

struct ssh_session_struct;

/* The algorithms to ask for, those of the known keys first, because otherwise a host that is known
 * by one key could present another. Freed by the caller. */
int remote_host_key_algorithms(char **out, const struct remote_config *c, struct fault *why);

/* Checks the key that the server of `ssh` has presented. 0: it is known. ML_ERR_REFUSED: it is
 * unknown, changed or revoked, or a file of RevokedHostKeys cannot be read; `why` names the remedy.
 * Runs ssh-keygen for a list of revoked keys (KRL), and waits for it as remote_wait_for()
 * does, whose errors are this one's. */
int remote_host_key_check(struct ssh_session_struct *ssh, const struct remote_config *c,
                          const struct remote_wait *wait, struct fault *why);

#endif
