/* SPDX-License-Identifier: MIT */
/* remote_login.h: logging in by public key: key files and ssh-agent, never a question to anybody.
 */
#ifndef LAUNCHER_SSH_REMOTE_LOGIN_H
#define LAUNCHER_SSH_REMOTE_LOGIN_H

#include "launcher/ssh/remote_session.h"

/* Offers the key files that ssh_config names, then what ssh-agent holds, then (if no file is named)
 * ~/.ssh/id_*; the named ones first, because sshd hangs up after a few wrong keys. With
 * IdentitiesOnly the ssh-agent is asked only if a named file needs a passphrase. A key with a
 * certificate FILE-cert.pub beside it is offered with that. ML_ERR_REFUSED: none is permitted; the
 * sentence lists what was tried and what was not. */
int remote_login(struct remote_session *s, struct fault *why);

#endif
