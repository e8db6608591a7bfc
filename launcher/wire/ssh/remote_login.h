/* SPDX-License-Identifier: MIT */
/* remote_login.h: logs in by public key, from key files and ssh-agent, and never asks for
 * anything. */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_LOGIN_H
#define LAUNCHER_WIRE_SSH_REMOTE_LOGIN_H

#include "launcher/wire/ssh/remote_session.h"

/* Offers keys in ssh's order (remote_identity.h), until one is permitted. A file that needs a
 * passphrase is used if ssh-agent has its key. ML_ERR_REFUSED: no key is permitted; `why` lists
 * those that were tried and those that could not be. */
int remote_login(struct remote_session *s, struct fault *why);

#endif
