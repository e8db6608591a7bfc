/* SPDX-License-Identifier: MIT */
/*
 * rdma_mesh.h: how the members of a group that talk over RDMA are joined: each opens its devices
 * and makes a queue pair a peer and rail, hands the peers their numbers (exchange.h), connects,
 * waits until all have, and then hears over each queue pair who is at its other end.
 */
#ifndef RUNTIME_TRANSPORT_RDMA_MESH_H
#define RUNTIME_TRANSPORT_RDMA_MESH_H

#include "runtime/group/group.h"

struct rdma_mesh;

/* Opens what is needed towards the members of g for which needed[rank] is true. */
int rdma_mesh_open(struct rdma_mesh **out, struct group *g, const bool *needed, struct fault *why);
void rdma_mesh_close(struct rdma_mesh *m); /* takes NULL; what became a link is left alone */

/* Makes the links in g->links; collective over g. ML_ERR_LINK, ML_ERR_TIMEOUT at deadline_ms
 * (clock_ms), ML_ERR_PEER. */
int rdma_mesh_run(struct rdma_mesh *m, int64_t deadline_ms, struct fault *why);

#endif
