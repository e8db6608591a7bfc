/* SPDX-License-Identifier: MIT */
/* tcp_link.h: a link over a TCP connection. */
#ifndef RUNTIME_TCP_TCP_LINK_H
#define RUNTIME_TCP_TCP_LINK_H

#include "runtime/group/link.h"

struct tcp_mesh;
struct tcp_seal;

/* Makes a link to `peer` over `fd` (connected, handshake completed, non-blocking, TCP_NODELAY),
 * whose bytes go through `seal` unless that is NULL. Takes both over, also in error.
 * ML_ERR_MEMORY. */
int tcp_link_open(struct link **out, struct group *g, int peer, int fd, struct tcp_seal *seal,
                  struct fault *why);

/* Makes a link to `peer` that the mesh connects when a message is first queued on it, or the peer
 * connects. ML_ERR_MEMORY. */
int tcp_link_open_later(struct link **out, struct group *g, int peer, struct tcp_mesh *m,
                        struct fault *why);
/* Goes on to connect such a link, also if no message is queued (`begins`). 1: it is connected; 0:
 * not yet; errors as from tcp_mesh_join. */
int tcp_link_connect(struct link *l, bool begins, struct fault *why);

#endif
