/* SPDX-License-Identifier: MIT */
/* watch.h: one descriptor to sleep on for all that may happen on a peer's rails: completions, the devices'
 * own news, and each second of sleep. */
#ifndef RDMA_WATCH_H
#define RDMA_WATCH_H

#include "common/fault.h"
#include "rdma/rails.h"

#include <stdbool.h>

struct watch {
    int epoll, timer; /* -1: not open */
    unsigned ticks;
};

int watch_open(struct watch *w, const struct rails *s, struct fault *why);
void watch_close(struct watch *w);

/* Takes what has happened off the descriptors. True: a second of sleep is over; each second time all
 * rails have given their sign of life. */
bool watch_wake(struct watch *w, struct rails *s);

/* All file descriptors; returns how many. */
int watch_descriptors(const struct watch *w, const struct rails *s, int *out, int most);

#endif
