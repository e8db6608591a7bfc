/* SPDX-License-Identifier: MIT */
/*
 * copies.h: memory that all devices of a window have registered, in places of equal size. The bytes
 * of a put or get go through such a place if they are few, or if the caller's memory is not of
 * ml_alloc.
 */
#ifndef RDMA_RMA_COPIES_H
#define RDMA_RMA_COPIES_H

#include "common/fault.h"

#include <stddef.h>
#include <stdint.h>

enum {
    COPIES_PLACES = 64,
    COPIES_PLACE = 32 * 1024, /* bytes */
    COPIES_SIZE = COPIES_PLACES * COPIES_PLACE,
};

struct copies {
    unsigned char *bytes;
    uint64_t used; /* bit i: place i */
};

/* ML_ERR_MEMORY. */
int copies_create(struct copies *out, struct fault *why);
void copies_destroy(struct copies *c); /* takes a zeroed one */

/* A free place, or -1. */
int copies_take(struct copies *c);
void copies_give(struct copies *c, int place);
unsigned char *copies_at(const struct copies *c, int place);

#endif
