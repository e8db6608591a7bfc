/* SPDX-License-Identifier: MIT */
/* rdma_link.h: a link over RDMA queue pairs. */
#ifndef RUNTIME_TRANSPORT_RDMA_LINK_H
#define RUNTIME_TRANSPORT_RDMA_LINK_H

#include "rdma/rdma_table.h"
#include "runtime/group/link.h"

struct rdma_meet;

/* Makes a link to `peer` over `e`, which is connected and checked, and which it takes over (also in
 * error). ML_ERR_MEMORY. */
int rdma_link_open(struct link **out, struct group *g, int peer, const struct endpoint_table *rdma,
                   struct endpoint *e, struct fault *why);

/* Makes a link to `peer` for which the meet gets an endpoint when a message is first queued on it,
 * or the peer asks. ML_ERR_MEMORY. */
int rdma_link_open_later(struct link **out, struct group *g, int peer, struct rdma_meet *m,
                         struct fault *why);

#endif
