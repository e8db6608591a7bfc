/* SPDX-License-Identifier: MIT */
/*
 * queue_pair.h: a connected queue pair and its way to being connected: reliable (RC), or, where a
 * device doesn't offer that (Thunderbolt), unreliable (UC): what is lost there is not sent again.
 */
#ifndef RDMA_VERBS_QUEUE_PAIR_H
#define RDMA_VERBS_QUEUE_PAIR_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"
#include "rdma/verbs/port.h"

enum {
    QUEUE_PAIR_SENDS = 64, /* that may be under way, and receives that may be posted */
    QUEUE_PAIR_RECEIVES = 64,
    QUEUE_PAIR_INLINE = 220, /* bytes asked for; less where the device has less */
};

enum queue_pair_kind { QUEUE_PAIR_AUTO, QUEUE_PAIR_RC, QUEUE_PAIR_UC };

struct queue_pair {
    enum queue_pair_kind kind; /* RC or UC */
    struct ibv_qp *qp;
    uint32_t psn;        /* this side's first packet number */
    uint32_t max_inline; /* bytes */
};

/* What each side must know of the other's. */
struct queue_pair_end {
    uint32_t number, psn;
    uint16_t lid;
    uint8_t mtu;  /* enum ibv_mtu */
    uint8_t kind; /* enum queue_pair_kind */
    struct gid gid;
};

/* Made and initialised: receives may be posted. AUTO: RC, or UC if the device refuses RC. */
int queue_pair_create(struct queue_pair *out, enum queue_pair_kind kind, const struct port *p,
                      struct ibv_pd *domain, struct ibv_cq *sends, struct ibv_cq *receives,
                      const struct explain_place *at, struct fault *why);
/* Connects it, ready to send. gid: this side's; `at` names both. */
int queue_pair_connect(struct queue_pair *q, const struct port *p, const struct gid *gid,
                       const struct queue_pair_end *peer, const struct explain_place *at,
                       struct fault *why);
/* From now on nothing is sent or received; what is posted completes with an error. */
void queue_pair_stop(struct queue_pair *q);
void queue_pair_destroy(struct queue_pair *q); /* takes an empty one */

#endif
