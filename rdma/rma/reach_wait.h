/* SPDX-License-Identifier: MIT */
/*
 * reach_wait.h: how the threads that use a reach move its work and wait for it. All functions are
 * called with the lock of the reach.
 */
#ifndef RDMA_RMA_REACH_WAIT_H
#define RDMA_RMA_REACH_WAIT_H

#include "common/fault.h"

#include <stdint.h>

struct reach;

/* Takes what the devices have done, posts what was started, and reports what of it is done. Returns
 * how much has moved. */
int reach_move(struct reach *r);

/* Fails everything that is under way, soon, and all that comes. */
void reach_fail(struct reach *r, const struct fault *why);

/* Requests an event, for the thread that watches, at the next completion of each track that has
 * something under way. Returns for how many ms to sleep at most. */
int reach_arm(const struct reach *r);

/* For a thread for which nothing has moved: spins, then sleeps, without the lock. *since_ns is when
 * something last moved; 0: just now. */
void reach_wait(struct reach *r, int64_t *since_ns);
/* The same without spinning. Notices that the window is broken. One thread waits for the devices;
 * the others wait until it comes back. */
void reach_sleep(struct reach *r);

#endif
