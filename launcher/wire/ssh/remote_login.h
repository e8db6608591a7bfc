/* SPDX-License-Identifier: MIT */
/* remote_login.h: logs in by public key, from key files and ssh-agent, and never asks for
 * anything. */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_LOGIN_H
#define LAUNCHER_WIRE_SSH_REMOTE_LOGIN_H

#include "launcher/wire/ssh/remote_session.h"

/* Offers the key files that ssh_config names, then the keys of ssh-agent, then (if no file is
 * named) ~/.ssh/id_*. The named ones come first, because sshd hangs up after a few wrong keys. With
 * IdentitiesOnly, ssh-agent is asked only if a named file needs a passphrase. A key is offered with
 * its certificate if there is a file KEY-cert.pub. ML_ERR_REFUSED: no key is permitted; `why` lists
 * those that were tried and those that could not be. */
int remote_login(struct remote_session *s, struct fault *why);

#endif
