/* SPDX-License-Identifier: MIT */
/*
 * bounce_pool.h: memory that all devices of a window have registered, in slots of equal size. The
 * bytes of a put or get go through such a slot if they are few, or if the caller's memory is not of
 * ml_alloc.
 */
#ifndef RDMA_RMA_BOUNCE_POOL_H
#define RDMA_RMA_BOUNCE_POOL_H

#include "common/fault.h"

#include <stddef.h>
#include <stdint.h>

enum {
    BOUNCE_POOL_SLOTS = 64,
    BOUNCE_POOL_SLOT = 32 * 1024, /* bytes */
    BOUNCE_POOL_SIZE = BOUNCE_POOL_SLOTS * BOUNCE_POOL_SLOT,
};

struct bounce_pool {
    unsigned char *bytes;
    uint64_t used; /* bit i: slot i */
};

/* ML_ERR_MEMORY. */
int bounce_pool_create(struct bounce_pool *out, struct fault *why);
void bounce_pool_destroy(struct bounce_pool *b); /* takes a zeroed one */

/* A free slot, or -1. */
int bounce_pool_take(struct bounce_pool *b);
void bounce_pool_give(struct bounce_pool *b, int slot);
unsigned char *bounce_pool_at(const struct bounce_pool *b, int slot);

#endif
