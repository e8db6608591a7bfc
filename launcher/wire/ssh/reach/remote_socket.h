/* SPDX-License-Identifier: MIT */
/* remote_socket.h: the connection to a host's sshd: TCP, or what ProxyCommand or ProxyJump runs. */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_SOCKET_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_SOCKET_H

#include "launcher/base/process/last_words.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/ssh/reach/remote_config.h"
#include "launcher/wire/ssh/reach/remote_wait.h"

struct remote_socket {
    int fd;                    /* non-blocking; -1: not open */
    struct stream_child proxy; /* pid 0: none */
    struct last_words words;   /* the proxy's */
    char where[300];           /* "10.0.0.2 port 22", "the proxy command": for messages */
};

/* Connects before the deadline of `w`; the addresses of a name share the time. Errors as
 * remote_wait_for and remote_resolve; ML_ERR_REFUSED and ML_ERR_LINK name the address. */
int remote_socket_open(struct remote_socket *s, const struct remote_config *c,
                       const struct remote_wait *w, struct fault *why);

/* Makes the kernel acknowledge what arrives at once: sshd uses Nagle's algorithm while keys are
 * exchanged, so that a delayed acknowledgement costs 40 ms. Call it before each wait, because
 * the kernel drops the setting. */
void remote_socket_hurry(const struct remote_socket *s);

/* What a proxy has written to its stderr so far, in one line; "" if nothing. */
void remote_socket_proxy_words(struct remote_socket *s, char *text, size_t size);

/* Closes, and ends a proxy. */
void remote_socket_close(struct remote_socket *s);

#endif
