/* SPDX-License-Identifier: MIT */
/* standin_end.h: how requests and receives end: completed, failed, flushed, or forgotten. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_END_H
#define RDMA_STANDIN_LIBRARY_STANDIN_END_H

#include "rdma/standin/library/standin_qp.h"

/* Attributes and sizes as they are in the state RESET. */
void standin_qp_begin(struct standin_qp *q);
/* Nothing is on its way any more, as in the state RESET. */
void standin_qp_reset(struct standin_qp *q);

/* Completes the oldest request. */
void standin_send_complete(struct standin_qp *q, enum ibv_wc_status status);
/* Completes a receive. */
void standin_qp_received(struct standin_qp *q, struct standin_receive *taken,
                         const struct ibv_wc *wc, bool is_solicited);

/* The queue pair fails: the oldest request with `status`, and all others are flushed. */
void standin_qp_fail(struct standin_qp *q, enum ibv_wc_status status);
void standin_qp_fail_users(struct standin_context *c, struct ibv_cq *cq);
/* To the state ERR, in which all that is posted is flushed. */
void standin_qp_flush(struct standin_qp *q);
void standin_qp_flush_receives(struct standin_qp *q);

/* Whoever waits for an answer hears nothing, as from a device that is not there. */
void standin_qp_silent(const struct standin_qp *q);
/* Answers that wait are given up in that way. */
void standin_answers_drop(struct standin_qp *q);

#endif
