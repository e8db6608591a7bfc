/* SPDX-License-Identifier: MIT */
/*
 * memory.h: what a rail's device reads and writes: a ring that the peer writes into, the ring that
 * this side sends from, two words for signs of life, and places for announcements (rail.h). User
 * memory is the device's only where it is ml_alloc's (region.h).
 */
#ifndef RDMA_VERBS_MEMORY_H
#define RDMA_VERBS_MEMORY_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"

#include <infiniband/verbs.h>

enum {
    MEMORY_SLOTS = 16,
    /* 64 KiB of payload and room for a header; a cache line's multiple. */
    MEMORY_SLOT = 64 * 1024 + 64,
    MEMORY_KEEPALIVE = 64, /* bytes for a sign of life */
    MEMORY_ANNOUNCEMENTS = 4,
    MEMORY_ANNOUNCEMENT = 64,
};

/* Offsets from the start. */
enum {
    MEMORY_IN = 0,
    MEMORY_OUT = MEMORY_SLOTS * MEMORY_SLOT,
    MEMORY_KEEPALIVE_IN = 2 * MEMORY_SLOTS * MEMORY_SLOT,
    MEMORY_KEEPALIVE_OUT = MEMORY_KEEPALIVE_IN + MEMORY_KEEPALIVE,
    MEMORY_ANNOUNCED = MEMORY_KEEPALIVE_OUT + MEMORY_KEEPALIVE, /* by the peer, and to it */
    MEMORY_ANNOUNCE = MEMORY_ANNOUNCED + MEMORY_ANNOUNCEMENTS * MEMORY_ANNOUNCEMENT,
    MEMORY_SIZE = MEMORY_ANNOUNCE + MEMORY_ANNOUNCEMENTS * MEMORY_ANNOUNCEMENT,
};

struct memory {
    unsigned char *bytes;
    struct ibv_mr *region;
};

int memory_create(struct memory *out, struct ibv_pd *domain, const struct explain_place *at,
                  struct fault *why);
void memory_destroy(struct memory *m); /* takes an empty one */

#endif
