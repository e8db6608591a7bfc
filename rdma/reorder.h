/* SPDX-License-Identifier: MIT */
/*
 * reorder.h: a buffer for chunks that arrive out of order. A chunk that is sent again after a rail
 * was lost arrives behind later chunks, and may even have to wait for their slots. So chunks are
 * moved out of their slots into this buffer until everything that was sent before the loss has
 * arrived.
 */
#ifndef RDMA_REORDER_H
#define RDMA_REORDER_H

#include "common/fault.h"
#include "rdma/rails.h"

#include <stdint.h>

struct reorder_chunk;
struct reorder {
    uint64_t until; /* chunks below this number may still arrive behind later ones */
    struct reorder_chunk *first;
};

/* Moves arrived chunks into the buffer until chunk `next`, the next one in order, is found or
 * nothing is left. ML_ERR_MEMORY. */
int reorder_take(struct reorder *b, struct rails *s, uint64_t next, struct fault *why);

/* Chunk `number` if it is in the buffer, valid until reorder_release; else NULL. */
const void *reorder_find(const struct reorder *b, uint64_t number, struct rail_chunk *what);
void reorder_release(struct reorder *b, uint64_t number);

void reorder_clear(struct reorder *b); /* frees all chunks */

#endif
