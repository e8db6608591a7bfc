/* SPDX-License-Identifier: MIT */
/* rdma_topology.h: JOB_DIR/rdma.json, which says what devices connect each host with each other
 * one, and what the user has chosen for all of them. */
#ifndef RUNTIME_TRANSPORT_RDMA_TOPOLOGY_H
#define RUNTIME_TRANSPORT_RDMA_TOPOLOGY_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rdma_table.h"
#include "runtime/group/group.h"

struct rdma_topology;

/* ML_ERR_SYSTEM if the file can't be read or is no wiring; ML_ERR_MEMORY. */
int rdma_topology_read(struct rdma_topology **out, const char *job_dir, struct fault *why);
void rdma_topology_destroy(struct rdma_topology *w); /* takes NULL */

/* The names of the devices by which host `from` reaches host `to`: *count of them, then NULL; owned
 * by the wiring and valid until the next call. With MLAUNCH_RAIL one of them, the last if the link
 * has fewer. ML_ERR_ARGUMENT if there is none. */
int rdma_topology_devices(struct rdma_topology *w, int from, int to, const char *const **out,
                          int *count, struct fault *why);

/* Opens the endpoint from this rank to `peer` (rank in g) over these devices. may_lack: as struct
 * endpoint_config has it. Also as endpoint_open. */
int rdma_topology_endpoint(struct rdma_topology *w, const struct endpoint_table *rdma,
                           const struct group *g, int peer, bool may_lack, struct endpoint **out,
                           struct fault *why);

/* The user's choice, the same for all of these devices, and those near this rank's GPUs. */
struct rdma_choice rdma_topology_choice(const struct rdma_topology *w);

#endif
