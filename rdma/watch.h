/* SPDX-License-Identifier: MIT */
/* watch.h: one file descriptor that wakes a sleeper for everything that can happen on a peer's
 * rails: completions, events of the devices, and a tick each second. */
#ifndef RDMA_WATCH_H
#define RDMA_WATCH_H

#include "common/fault.h"
#include "rdma/rails.h"

#include <stdbool.h>

struct watch {
    int epoll, timer; /* -1: not open */
    unsigned ticks;
};

/* Creates the descriptors for the rails of `s`. ML_ERR_SYSTEM; watch_close closes what was
 * opened. */
int watch_open(struct watch *w, const struct rails *s, struct fault *why);
void watch_close(struct watch *w);

/* Handles and clears the events. True: a second of sleep is over. On every second of these ticks
 * all rails send a keep-alive. */
bool watch_wake(struct watch *w, struct rails *s);

/* Stores all file descriptors, the devices' included, in out[0] to out[most - 1]; returns how
 * many. */
int watch_descriptors(const struct watch *w, const struct rails *s, int *out, int most);

#endif
