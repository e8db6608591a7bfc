/* SPDX-License-Identifier: MIT */
/* tcp_link.h: a link over a TCP connection. */
#ifndef RUNTIME_TRANSPORT_TCP_LINK_H
#define RUNTIME_TRANSPORT_TCP_LINK_H

#include "runtime/group/link.h"

/* Takes over `fd`: connected, handshake over, non-blocking, TCP_NODELAY (also in error). */
int tcp_link_open(struct link **out, struct group *g, int peer, int fd, struct fault *why);

#endif
