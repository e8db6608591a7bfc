/* SPDX-License-Identifier: MIT */
/*
 * rma_helper.h: the thread that moves what was started while no thread is in a call that waits. The
 * first start makes it. It sleeps while nothing was started, or a call moves everything; and it
 * comes back only when the calls have been gone for a moment (GRACE_NS), so a stream of starts and
 * waits wakes it rarely. It also reports what has failed, without the lock, because that may take a
 * while.
 */
#ifndef RDMA_RMA_RMA_HELPER_H
#define RDMA_RMA_RMA_HELPER_H

#include <stdbool.h>

struct rma;

/* Makes the helper, if there is none. False: no thread can be made. With the lock. */
bool rma_helper_begin(struct rma *r);
/* Fails what was started and is not done, and ends the helper when all of it is reported. */
void rma_helper_end(struct rma *r);

/* A thread comes, which will move everything until it leaves; take and give back the lock. */
void rma_enter(struct rma *r);
void rma_leave(struct rma *r);

#endif
