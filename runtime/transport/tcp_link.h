/* SPDX-License-Identifier: MIT */
/* tcp_link.h: a link over a TCP connection. */
#ifndef RUNTIME_TRANSPORT_TCP_LINK_H
#define RUNTIME_TRANSPORT_TCP_LINK_H

#include "runtime/group/link.h"

/* Makes a link to `peer` over `fd`, which it takes over (also in error): connected, handshake
 * completed, non-blocking, TCP_NODELAY. ML_ERR_MEMORY. */
int tcp_link_open(struct link **out, struct group *g, int peer, int fd, struct fault *why);

#endif
