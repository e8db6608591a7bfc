/* SPDX-License-Identifier: MIT */
/*
 * queue_pair.h: a queue pair and its way to the connected state. It is reliable (RC), or unreliable
 * (UC) if the device does not offer RC (Thunderbolt). On UC lost messages are not sent again.
 */
#ifndef RDMA_VERBS_QUEUE_PAIR_H
#define RDMA_VERBS_QUEUE_PAIR_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"
#include "rdma/verbs/port.h"

#include <stdbool.h>

enum {
    QUEUE_PAIR_SENDS = 64, /* most sends under way, and most receives posted */
    QUEUE_PAIR_RECEIVES = 64,
    QUEUE_PAIR_INLINE = 220, /* bytes requested; a device may offer less */
};

enum queue_pair_kind { QUEUE_PAIR_AUTO, QUEUE_PAIR_RC, QUEUE_PAIR_UC };

struct queue_pair {
    enum queue_pair_kind kind; /* RC or UC */
    struct ibv_qp *qp;
    uint32_t psn;        /* this side's first packet number */
    uint32_t max_inline; /* bytes */
    /* RC: most RDMA reads under way, of the peer and of this side. The caller may set both between
     * create and connect, and then the peer may read; 0: none. */
    uint8_t reads_in, reads_out;
    bool takes_atomics; /* with reads_in: the peer may also change numbers atomically */
};

/* What each side must know about the other's queue pair. */
struct queue_pair_end {
    uint32_t number, psn;
    uint16_t lid;
    uint8_t mtu;   /* enum ibv_mtu */
    uint8_t kind;  /* enum queue_pair_kind */
    uint8_t reads; /* most RDMA reads of the peer that this side answers at a time */
    struct gid gid;
};

/* Creates and initialises a queue pair; from then on receives may be posted. AUTO: RC, or UC if the
 * device refuses RC. `at` is for the sentence of a failure. */
int queue_pair_create(struct queue_pair *out, enum queue_pair_kind kind, const struct port *p,
                      struct ibv_pd *domain, struct ibv_cq *sends, struct ibv_cq *receives,
                      const struct explain_place *at, struct fault *why);
/* Connects the queue pair, ready to send. gid: this side's. ML_ERR_LINK or ML_ERR_DEVICE. */
int queue_pair_connect(struct queue_pair *q, const struct port *p, const struct gid *gid,
                       const struct queue_pair_end *peer, const struct explain_place *at,
                       struct fault *why);
/* Stops sending and receiving. What is posted completes with an error. */
void queue_pair_stop(struct queue_pair *q);
void queue_pair_destroy(struct queue_pair *q); /* takes a zeroed one */

#endif
