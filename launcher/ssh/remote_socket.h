/* SPDX-License-Identifier: MIT */
/* remote_socket.h: the byte stream to a host's sshd: TCP, or what ProxyCommand or ProxyJump runs.
 */
#ifndef LAUNCHER_SSH_REMOTE_SOCKET_H
#define LAUNCHER_SSH_REMOTE_SOCKET_H

#include "launcher/process/last_words.h"
#include "launcher/process/stream_child.h"
#include "launcher/ssh/remote_config.h"
#include "launcher/ssh/remote_wait.h"

#include <stdbool.h>

struct remote_socket {
    int fd;                    /* non-blocking; -1: not open */
    struct stream_child proxy; /* pid 0: none */
    struct last_words words;   /* of the proxy */
    char where[300];           /* "10.0.0.2 port 22", "the proxy command": for messages */
};

bool remote_socket_has_proxy(const struct remote_config *c);

/* Connects, until the deadline of `w`; the addresses of a name share the time. */
int remote_socket_open(struct remote_socket *s, const struct remote_config *c,
                       const struct remote_wait *w, struct fault *why);

/* Acknowledge what comes at once: sshd has Nagle's algorithm on while keys are exchanged, so that
 * an acknowledgement that is put off costs 40 ms. The kernel forgets it: say it before each wait.
 */
void remote_socket_hurry(const struct remote_socket *s);

/* What a proxy has said on its stderr so far, in one line; "" if nothing. */
void remote_socket_proxy_words(struct remote_socket *s, char *text, size_t size);

/* Closes, and ends a proxy. */
void remote_socket_close(struct remote_socket *s);

#endif
