/* SPDX-License-Identifier: MIT */
/* rail_fit.h: whether the two ends of a rail fit together, and the MTU and addresses that they
 * use. */
#ifndef RDMA_VERBS_RAIL_FIT_H
#define RDMA_VERBS_RAIL_FIT_H

#include "common/fault.h"
#include "rdma/verbs/rail_end.h"

#include <stdbool.h>

/* Stores in *out the path MTU (enum ibv_mtu) for `bytes`, which the user asked for; 0: the port's
 * active MTU. ML_ERR_ARGUMENT if the port cannot take that many. */
int rail_fit_mtu(const struct port *p, int bytes, uint8_t *out, struct fault *why);

/* This side of a rail, as far as it matters for the fit. */
struct rail_fit {
    const struct port *port;
    uint8_t mtu;      /* enum ibv_mtu */
    int gid_index;    /* chosen by the user, or -1 */
    const char *peer; /* "rank 3 on host b" */
    bool is_low;      /* this side is the lower rank */
};

/* Fills in all that the other side needs of this one, but for the memory that it may reach. */
void rail_fit_publish(const struct rail_fit *mine, const struct queue_pair *q,
                      struct rail_end *out);

/* Checks that `other` can be the other end, and connects the queue pair to it. On Ethernet it also
 * stores the GIDs to use in *gid (this side's) and *peer_gid; both ends compute the same pair.
 * ML_ERR_LINK names what does not fit, ML_ERR_REFUSED means that `other` is damaged; otherwise as
 * queue_pair_connect. */
int rail_fit_connect(const struct rail_fit *mine, struct queue_pair *q,
                     const struct rail_end *other, struct gid *gid, struct gid *peer_gid,
                     struct fault *why);

#endif
