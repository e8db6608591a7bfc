/* SPDX-License-Identifier: MIT */
/*
 * tcp_mesh.h: how the members of a group that talk over TCP find each other: each listens, tells
 * the others where (exchange.h), and the lower of two ranks connects to the higher one. All
 * handshakes (common/auth.h, purpose "mesh") run at once in one poll() loop.
 */
#ifndef RUNTIME_TRANSPORT_TCP_MESH_H
#define RUNTIME_TRANSPORT_TCP_MESH_H

#include "common/address.h"
#include "runtime/group/group.h"

struct tcp_mesh;

/* Begins for the members of g for which needed[rank] is true. Listens if one of them is to connect;
 * `where` becomes "addr:port" then, else "". */
int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed,
                  char where[ADDRESS_TEXT], struct fault *why);
void tcp_mesh_close(struct tcp_mesh *m); /* takes NULL */

/* The peer says it listens at `where`. */
int tcp_mesh_found(struct tcp_mesh *m, int rank, const char *where, struct fault *why);

/* Connects and accepts until there is a link in g->links to every needed member. ML_ERR_TIMEOUT at
 * deadline_ms (clock_ms), ML_ERR_LINK or ML_ERR_REFUSED, naming the member; ML_ERR_PEER if one
 * dies. */
int tcp_mesh_run(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why);

#endif
