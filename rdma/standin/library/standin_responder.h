/* SPDX-License-Identifier: MIT */
/* standin_responder.h: the side of a queue pair that takes requests and answers them. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_RESPONDER_H
#define RDMA_STANDIN_LIBRARY_STANDIN_RESPONDER_H

#include "rdma/standin/library/standin_qp.h"

/* A request has come. */
void standin_responder_take(struct standin_qp *q, const struct fabric_segment *s);
/* Sends answers that waited for slots. */
void standin_responder_run(struct standin_qp *q);
/* There is no such queue pair: its sender hears nothing, as from a device. */
void standin_responder_silent(struct standin_context *c, const struct fabric_segment *s);

#endif
