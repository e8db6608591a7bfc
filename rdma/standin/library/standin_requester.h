/* SPDX-License-Identifier: MIT */
/*
 * standin_requester.h: the side of a queue pair that sends requests, as the InfiniBand
 * Architecture Specification (volume 1, 9.7.5 and 9.9.2) has it: go back to the packet that was
 * not acknowledged, as often as the attributes allow.
 */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_REQUESTER_H
#define RDMA_STANDIN_LIBRARY_STANDIN_REQUESTER_H

#include "rdma/standin/library/standin_qp.h"

/* Sends what may be sent. */
void standin_requester_run(struct standin_qp *q);
/* An answer has come. */
void standin_requester_answer(struct standin_qp *q, const struct fabric_segment *s);
/* A request, or the answer to one, was lost on the way; NULL: whatever the queue pair waits for. */
void standin_requester_lost(struct standin_qp *q, const struct fabric_segment *s);
/* Does what is due at `now`, in clock_ns(); when it is to be called again, 0: not. */
int64_t standin_requester_timer(struct standin_qp *q, int64_t now);

#endif
