/* SPDX-License-Identifier: MIT */
/*
 * tcp_mesh.h: how the members of a group that talk over TCP connect. Each listens and tells the
 * others where (exchange.h), and the lower of two ranks connects to the higher one. All handshakes
 * (common/net/auth.h, purpose "mesh") run at once in one poll() loop. The thread that joins the
 * group calls these functions.
 */
#ifndef RUNTIME_TRANSPORT_TCP_MESH_H
#define RUNTIME_TRANSPORT_TCP_MESH_H

#include "common/net/address.h"
#include "runtime/group/group.h"

struct tcp_mesh;

/* Begins for the members of g for which needed[rank] is true. If one of them is to connect to this
 * rank, it listens, and `where` becomes "addr:port"; otherwise "". ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int tcp_mesh_open(struct tcp_mesh **out, struct group *g, const bool *needed,
                  char where[ADDRESS_TEXT], struct fault *why);
void tcp_mesh_close(struct tcp_mesh *m); /* takes NULL */

/* Starts to connect to member `rank`, which listens at `where`, if that is this rank's task.
 * ML_ERR_LINK, ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int tcp_mesh_found(struct tcp_mesh *m, int rank, const char *where, struct fault *why);

/* Connects and accepts until there is a link in g->links to every needed member. ML_ERR_TIMEOUT at
 * deadline_ms (clock_ms), ML_ERR_LINK or ML_ERR_REFUSED, each naming the member; ML_ERR_PEER if one
 * dies. */
int tcp_mesh_run(struct tcp_mesh *m, int64_t deadline_ms, struct fault *why);

#endif
