/* SPDX-License-Identifier: MIT */
/*
 * rma_wait.h: how the threads that use a struct rma move its work and wait for it. All functions
 * are called with its lock.
 */
#ifndef RDMA_RMA_RMA_WAIT_H
#define RDMA_RMA_RMA_WAIT_H

#include "common/fault.h"

#include <stdint.h>

struct rma;

/* Takes what the devices have done, posts what was started, and reports what of it is done. Returns
 * how much has moved. */
int rma_move(struct rma *r);

/* Fails everything that is under way, soon, and all that comes. */
void rma_fail(struct rma *r, const struct fault *why);

/* Requests an event, for the thread that watches, at the next completion of each queue pair that
 * has something under way. Returns for how many ms to sleep at most. */
int rma_arm(const struct rma *r);

/* For a thread for which nothing has moved: spins, then sleeps, without the lock. *since_ns is when
 * something last moved; 0: just now. */
void rma_wait(struct rma *r, int64_t *since_ns);
/* The same without spinning. Notices that the window is broken. One thread waits for the devices;
 * the others wait until it comes back. */
void rma_sleep(struct rma *r);

#endif
