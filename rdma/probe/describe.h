/* SPDX-License-Identifier: MIT */
/* describe.h: devices, ports and GIDs as JSON, and GIDs read back. */
#ifndef RDMA_PROBE_DESCRIBE_H
#define RDMA_PROBE_DESCRIBE_H

#include "rdma/verbs/gid.h"

#include <infiniband/verbs.h>
#include <jansson.h>

/* {"firmware", "ports": [{"port", "state", "link_layer", "gids": …}], "limits"}, or {"error"}. Both
 * results are the caller's. */
json_t *describe_device(struct ibv_context *context);
json_t *describe_gids(const struct gid *gids, int count);

/* Reads a list as describe_gids() makes it. It comes from another host: malformed elements are left
 * out. Returns how many there are in `out`, at most `most`. */
int describe_gids_read(const json_t *list, struct gid *out, int most);

#endif
