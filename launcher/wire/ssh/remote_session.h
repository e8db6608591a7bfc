/* SPDX-License-Identifier: MIT */
/*
 * remote_session.h: an SSH session with one host, connected and with keys exchanged. libssh is used
 * without blocking, so that every step ends at its deadline and acknowledgements are sent at once
 * (remote_socket_hurry):
 *
 *     while ((rc = ssh_something(s->ssh)) == SSH_AGAIN)
 *         if (remote_session_wait(s, why)) …
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_SESSION_H
#define LAUNCHER_WIRE_SSH_REMOTE_SESSION_H

#include "launcher/wire/ssh/reach/remote_socket.h"

#define LIBSSH_LEGACY_0_4 /* leaves out its old names, one of which is string_copy */
#include <libssh/libssh.h>

struct remote_session {
    ssh_session ssh; /* owned; NULL: not open */
    struct remote_socket socket;
    struct remote_wait wait; /* for the step under way */
    const struct remote_config *config;
};

/* Connects and exchanges keys before the deadline of `w`, which becomes the session's. Tries again
 * if sshd drops the connection before its banner, as it does while too many clients log in. Does
 * not check the host's key (remote_host_key.h). */
int remote_session_open(struct remote_session *s, const struct remote_config *c,
                        const struct remote_wait *w, struct fault *why);

/* Waits until libssh can read, or write bytes that it still holds. Errors as remote_wait_for;
 * ML_ERR_LINK: the server has closed the connection, and libssh's sentence says why. */
int remote_session_wait(struct remote_session *s, struct fault *why);

/* What libssh's last error is: ML_ERR_LINK if the connection is gone, else ML_ERR_REFUSED. */
int remote_session_error(const struct remote_session *s);

void remote_session_close(struct remote_session *s); /* takes a half-open one */

#endif
