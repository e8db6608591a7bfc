/* SPDX-License-Identifier: MIT */
/* tcp_link.h: a link over a TCP connection. */
#ifndef RUNTIME_TRANSPORT_TCP_LINK_H
#define RUNTIME_TRANSPORT_TCP_LINK_H

#include "runtime/group/link.h"

struct tcp_seal;

/* Makes a link to `peer` over `fd` (connected, handshake completed, non-blocking, TCP_NODELAY),
 * whose bytes go through `seal` unless that is NULL. Takes both over, also in error.
 * ML_ERR_MEMORY. */
int tcp_link_open(struct link **out, struct group *g, int peer, int fd, struct tcp_seal *seal,
                  struct fault *why);

#endif
