/* SPDX-License-Identifier: MIT */
/*
 * rdma_mesh.h: connects all members of a group that talk over RDMA at once: those of a window, and
 * with --eager those of every group (else rdma_meet.h does). Each opens its devices and makes a
 * queue pair for each peer and rail, gives the peers the numbers of these (exchange.h), connects,
 * waits until all members have, and then checks over each queue pair that the right peer is at its
 * other end. The thread that joins the group calls these functions.
 */
#ifndef RUNTIME_TRANSPORT_RDMA_MESH_H
#define RUNTIME_TRANSPORT_RDMA_MESH_H

#include "runtime/group/group.h"

struct rdma_mesh;

/* Opens the endpoints to the members of g for which needed[rank] is true. ML_ERR_DEVICE,
 * ML_ERR_ARGUMENT, ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int rdma_mesh_open(struct rdma_mesh **out, struct group *g, const bool *needed, struct fault *why);
void rdma_mesh_close(struct rdma_mesh *m); /* takes NULL; what has become a link stays open */

/* Makes the links in g->links; collective over g. ML_ERR_LINK, ML_ERR_TIMEOUT at deadline_ms
 * (clock_ms), ML_ERR_PEER, or the code with which another member has broken g. */
int rdma_mesh_run(struct rdma_mesh *m, int64_t deadline_ms, struct fault *why);

#endif
