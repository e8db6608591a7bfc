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

/* This side of a rail, and once it is connected the other one. */
struct rail_fit {
    struct port *port; /* not owned; NULL: not open yet */
    uint8_t mtu;       /* enum ibv_mtu */
    int gid_index;     /* chosen by the user, or -1 */
    const char *peer;  /* "rank 3 on host b"; not owned */
    int near;          /* how many of its ends are beside a GPU of their rank; first this one */
    struct gid gid, peer_gid;
    uint64_t address; /* the memory of the peer that this side may reach, with its key */
    uint32_t key;
};

/* How many of the devices of `list` the port is of (rdma_choice's `near`): 0 or 1. */
int rail_fit_near(const struct port *p, const char *list);

/* Where this side is, for sentences; valid as long as the fit. */
struct explain_place rail_fit_place(const struct rail_fit *mine);

/* Fills in all that the other side needs of this one, and the memory that it may reach; NULL:
 * none. */
void rail_fit_publish(const struct rail_fit *mine, const struct queue_pair *q,
                      const struct ibv_mr *memory, struct rail_end *out);

/* Checks that `other` can be the other end, and connects the queue pair to it. Stores its memory
 * and, on Ethernet, the GIDs to use; both ends compute the same pair. is_low: this side is the
 * lower rank. ML_ERR_LINK names what does not fit, ML_ERR_REFUSED means that `other` is damaged;
 * otherwise as queue_pair_connect. */
int rail_fit_connect(struct rail_fit *mine, struct queue_pair *q, const struct rail_end *other,
                     bool is_low, struct fault *why);

#endif
