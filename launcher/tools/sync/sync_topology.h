/* SPDX-License-Identifier: MIT */
/* sync_topology.h: which RDMA ports the stream may go over from host to host. */
#ifndef LAUNCHER_TOOLS_SYNC_SYNC_TOPOLOGY_H
#define LAUNCHER_TOOLS_SYNC_SYNC_TOPOLOGY_H

#include "launcher/ask/query_command.h"

/* The options of a job that say so; ends with NULL. */
extern const char *const sync_topology_options[];

/* *out: [host][host]: list of ports or null, by the places of the hosts in c->hosts, the caller's;
 * NULL: all goes over TCP. With backend rdma and no stated wiring all hosts are asked. Finding
 * none is not an error. ML_ERR_ARGUMENT: a wrong option; ML_ERR_MEMORY. */
int sync_topology_find(json_t **out, struct query_command *c, struct fault *why);

#endif
