/* SPDX-License-Identifier: MIT */
/*
 * rma_qps.h: all queue pairs to one peer, and how a put or get is divided among them. Each slice
 * goes to the queue pair that has the fewest bytes under way. If a queue pair fails while others
 * work, what it was given and has not done goes again over them: gets at once, puts as soon as none
 * of its packets can be on its way any more, because a late one would write old bytes over new
 * ones. If the last queue pair fails, all work on them fails.
 */
#ifndef RDMA_RMA_RMA_QPS_H
#define RDMA_RMA_RMA_QPS_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/bounce_pool.h"
#include "rdma/rma/rma_op.h"
#include "rdma/rma/rma_qp.h"
#include "rdma/verbs/region_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RMA_SLICE_LEAST = 64 * 1024, RMA_SLICE_MOST = 1024 * 1024 }; /* bytes */

struct rma_qps {
    struct rma_qp *all[RDMA_RAILS]; /* owned */
    int count;
    struct fault failed; /* code != 0: the last of them has failed */
    bool is_reported[RDMA_RAILS];
    struct rma_op *queue, **queue_end; /* started; not all of it is posted; in order */
    struct rma_op *ended;              /* started and done, for rma_qps_take_ended */
};

void rma_qps_init(struct rma_qps *q);
void rma_qps_close(struct rma_qps *q);

/* True if the devices would put from and get to that memory of the caller themselves, and *way is
 * how; `why` may have the reason why not. */
bool rma_qps_are_direct(const struct rma_qps *q, const void *local, size_t size,
                        enum region_way *way, struct fault *why);

/* Prepares op: whether it is direct, and its slices. */
void rma_qps_begin(struct rma_qps *q, struct rma_op *op);
/* Posts as many slices of op as there is room for; returns how many. */
int rma_qps_post(struct rma_qps *q, struct rma_op *op, struct bounce_pool *b);
/* True once the caller's memory is its own again. */
bool rma_qps_are_done(const struct rma_qps *q, const struct rma_op *op);

/* Begins op, whose on_done is set, and posts of it what there is room for. True: it is done. False:
 * rma_qps_take_ended returns it later; rma_qps_post_queue posts the rest. */
bool rma_qps_start(struct rma_qps *q, struct rma_op *op, struct bounce_pool *b);
/* Posts what was started, as far as there is room; returns how many slices. */
int rma_qps_post_queue(struct rma_qps *q, struct bounce_pool *b);
/* Started work that is done; NULL: none. */
struct rma_op *rma_qps_take_ended(struct rma_qps *q);
/* True if all bytes of op, which is done, were put or got. */
bool rma_op_has_succeeded(const struct rma_op *op);

/* Handles what the devices have done, and failures. Returns how many slices have ended or gone
 * again. */
int rma_qps_poll(struct rma_qps *q, struct bounce_pool *b);
/* True if nothing is queued or under way, or has to go again. */
bool rma_qps_are_idle(const struct rma_qps *q);
/* When rma_qps_poll has something to do that no completion announces (clock_ms); INT64_MAX:
 * never. */
int64_t rma_qps_next_ms(const struct rma_qps *q);

/* Fails all queue pairs, and soon, with rma_qps_poll, all work on them. */
void rma_qps_fail(struct rma_qps *q, const struct fault *why);

/* Why a queue pair was given up, once for each, with the number of queue pairs left in *left. NULL:
 * nothing new. */
const struct fault *rma_qps_dropped(struct rma_qps *q, int *left);

#endif
