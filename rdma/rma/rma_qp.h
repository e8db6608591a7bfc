/* SPDX-License-Identifier: MIT */
/*
 * rma_qp.h: a queue pair (RC) to one peer for one-sided work: RDMA writes and reads of pieces of
 * the peer's part of a window. It keeps what it was given until the device says that it is done, so
 * that all of it can be given to another queue pair if this one fails.
 */
#ifndef RDMA_RMA_RMA_QP_H
#define RDMA_RMA_RMA_QP_H

#include "common/fault.h"
#include "rdma/rma/rma_port.h"
#include "rdma/verbs/queue_pair.h"
#include "rdma/verbs/rail_fit.h"

#include <stdbool.h>
#include <stdint.h>

struct rma_op;

struct slice {
    struct rma_op *op; /* waits for it; NULL: a put whose bytes were copied */
    unsigned char *local;
    uint64_t offset; /* in the peer's part */
    uint32_t size;
    bool is_get;
    int bounce; /* the slot in the bounce pool, or -1: the caller's memory */
};

enum { RMA_QP_DEPTH = QUEUE_PAIR_SENDS };

struct rma_qp {
    struct rma_port *port;
    struct ibv_cq *completions;
    unsigned events; /* on the channel, to be acknowledged */
    struct queue_pair pair;
    struct rail_fit fit; /* the peer's memory: its part */
    struct slice slices[RMA_QP_DEPTH];
    uint64_t used; /* bit i: slices[i] */
    int under_way; /* given to the device and not returned */
    int gets;      /* reads among them */
    size_t bytes;  /* under way */
    bool is_connected;
    struct fault failed; /* code != 0: the queue pair takes nothing more */
    int64_t quiet_ms;    /* if it has failed: from when on (clock_ms) nothing of it may arrive */
    int64_t give_up_ms;  /* and when the device has had time enough to return everything */
};

/* Makes the queue pair on `p`, which must outlive it. ML_ERR_DEVICE, ML_ERR_MEMORY.
 * With QUEUE_PAIR_AUTO the caller has to look whether it is RC. */
int rma_qp_open(struct rma_qp **out, struct rma_port *p, const struct rdma_choice *choice,
                const char *peer, struct fault *why);
void rma_qp_close(struct rma_qp *q); /* takes NULL and half-open queue pairs */

void rma_qp_publish(const struct rma_qp *q, struct rail_end *out);
/* ML_ERR_LINK, ML_ERR_DEVICE, ML_ERR_REFUSED. */
int rma_qp_connect(struct rma_qp *q, const struct rail_end *other, bool is_low, struct fault *why);

/* True if it takes one more. */
bool rma_qp_has_room(const struct rma_qp *q, bool is_get);
/* Gives a slice to the device, after rma_qp_has_room. Its local memory is in `bounce` or in a block
 * of ml_alloc. A failure is stored in l->failed; the slice is kept like one that was under way. */
void rma_qp_post(struct rma_qp *q, const struct slice *s);

/* Stores up to `most` slices that are done in `done`; returns how many. Notices failures. */
int rma_qp_poll(struct rma_qp *q, struct slice *done, int most);

/* Takes a slice that was not done out of a queue pair that has failed and has nothing under way.
 * Puts only once none of its packets can reach the peer any more, or if they are `lost`, that is,
 * do not go again. False: there is none. */
bool rma_qp_take(struct rma_qp *q, bool lost, struct slice *out);

/* Stops the queue pair because of `why`. */
void rma_qp_fail(struct rma_qp *q, const struct fault *why);
/* Ends the queue pair of a failed queue pair whose device does not return what was under way. */
void rma_qp_give_up(struct rma_qp *q);

#endif
