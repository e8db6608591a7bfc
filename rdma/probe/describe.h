/* SPDX-License-Identifier: MIT */
/* describe.h: devices, ports and GIDs as JSON, and GIDs back. */
#ifndef RDMA_PROBE_DESCRIBE_H
#define RDMA_PROBE_DESCRIBE_H

#include "rdma/verbs/gid.h"

#include <infiniband/verbs.h>
#include <jansson.h>

/* {"firmware", "ports": [{"port", "state", "link_layer", "gids": …}], "limits"}, or {"error"}. */
json_t *describe_device(struct ibv_context *context);
json_t *describe_gids(const struct gid *gids, int count);

/* Out of a list as describe_gids makes it; another host's bytes. How many, at most `most`. */
int describe_gids_read(const json_t *list, struct gid *out, int most);

#endif
