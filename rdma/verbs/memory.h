/* SPDX-License-Identifier: MIT */
/*
 * memory.h: a rail's registered memory: the ring of slots that the peer writes into, the ring that
 * this side sends from, two places for keep-alives, and places for announcements (rail.h). The
 * device reads and writes no memory of the user but what ml_alloc allocated (region.h).
 */
#ifndef RDMA_VERBS_MEMORY_H
#define RDMA_VERBS_MEMORY_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"

#include <infiniband/verbs.h>

enum {
    MEMORY_SLOTS = 16,
    /* Bytes: 64 KiB of payload and room for a header; a multiple of a cache line. */
    MEMORY_SLOT = 64 * 1024 + 64,
    MEMORY_KEEPALIVE = 64, /* bytes */
    MEMORY_ANNOUNCEMENTS = 4,
    MEMORY_ANNOUNCEMENT = 64, /* bytes */
};

/* Offsets from the start. */
enum {
    MEMORY_IN = 0,
    MEMORY_OUT = MEMORY_SLOTS * MEMORY_SLOT,
    MEMORY_KEEPALIVE_IN = 2 * MEMORY_SLOTS * MEMORY_SLOT,
    MEMORY_KEEPALIVE_OUT = MEMORY_KEEPALIVE_IN + MEMORY_KEEPALIVE,
    /* Announcements from the peer, and to the peer. */
    MEMORY_ANNOUNCED = MEMORY_KEEPALIVE_OUT + MEMORY_KEEPALIVE,
    MEMORY_ANNOUNCE = MEMORY_ANNOUNCED + MEMORY_ANNOUNCEMENTS * MEMORY_ANNOUNCEMENT,
    MEMORY_SIZE = MEMORY_ANNOUNCE + MEMORY_ANNOUNCEMENTS * MEMORY_ANNOUNCEMENT,
};

struct memory {
    unsigned char *bytes;
    struct ibv_mr *region;
};

/* Allocates and registers the memory. ML_ERR_MEMORY or ML_ERR_DEVICE. */
int memory_create(struct memory *out, struct ibv_pd *domain, const struct explain_place *at,
                  struct fault *why);
void memory_destroy(struct memory *m); /* takes a zeroed one */

#endif
