/* SPDX-License-Identifier: MIT */
/*
 * tcp_mesh.h: how the members of a group that talk over TCP connect. Each process listens for as
 * long as it holds its rank (tcp_door.h), and tells the others where (exchange.h). Two ranks
 * connect when one first sends the other a message.
 *
 * Both may begin at once. The accepting side decides, and says so in one byte behind the handshake:
 * it takes a connection unless it is the lower of the two ranks and is making one itself. So the
 * lower rank's connection wins, no message goes over the other one, and messages keep their order.
 *
 *     NONE ── something is to be sent ──▶ CONNECTING ── the peer takes it ──▶ UP
 *      │                                    │  │ the peer, a lower rank, is making one itself
 *      │                                    │  └──▶ AWAITED ─┐
 *      └── the peer's connection is taken ──┴────────────────┴──▶ ARRIVED ── the link has it ──▶ UP
 *
 * What is not connected costs no look and no descriptor. A peer whose process makes no call answers
 * nobody, and is waited for as every late peer is. While it is here the thread that uses the group
 * calls these functions.
 */
#ifndef RUNTIME_TCP_TCP_MESH_H
#define RUNTIME_TCP_TCP_MESH_H

#include "runtime/group/exchange.h"
#include "runtime/group/group.h"

struct pollfd;
struct tcp_mesh;
struct tcp_seal;

/* Begins for the members of g for which needed[rank] is true: opens the process's door if need be,
 * and stores in *where ("addr:port", valid as long as the world) what the others are to be told.
 * They may connect from then on. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed, const char **where,
                  struct fault *why);
/* Takes NULL; after the links were closed. Ends the connections of tcp_mesh_part_from, too. */
void tcp_mesh_close(struct tcp_mesh *m);

/* Takes over the connection of a link that is closed: data may still be under way. */
void tcp_mesh_part_from(struct tcp_mesh *m, int fd);

/* The blobs of `x`, which it takes over, say where the members listen. */
void tcp_mesh_found(struct tcp_mesh *m, struct exchange *x);

/* For the link to `peer`. Returns 1: *fd is connected, and *seal is what its bytes go through, or
 * NULL; the caller owns both. 0: not yet; begins or goes on to connect if something is to be sent
 * (`sends`). ML_ERR_LINK, ML_ERR_SYSTEM, ML_ERR_MEMORY: it can't be. */
int tcp_mesh_join(struct tcp_mesh *m, int peer, bool sends, int *fd, struct tcp_seal **seal,
                  struct fault *why);
/* Stores what to poll for that. Returns how many entries there are: 0 or 1. */
int tcp_mesh_watch(const struct tcp_mesh *m, int peer, struct pollfd *p);
/* Why the peer can't be connected to: the coordinator may know better. NULL: nothing has failed. */
const struct fault *tcp_mesh_reason(const struct tcp_mesh *m, int peer);

#endif
