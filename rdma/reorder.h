/* SPDX-License-Identifier: MIT */
/*
 * reorder.h: chunks that came before their turn. What goes again after a rail was lost stands behind later
 * chunks, whose slots it may even wait for: so until all that the peer had sent by then is here, what is
 * not next is put aside.
 */
#ifndef RDMA_REORDER_H
#define RDMA_REORDER_H

#include "common/fault.h"
#include "rdma/rails.h"

#include <stdint.h>

struct reorder_chunk;
struct reorder {
    uint64_t until; /* up to this chunk, some may come again, behind later ones */
    struct reorder_chunk *first;
};

/* Takes in what is not next; next: the number of the chunk that is. */
int reorder_take(struct reorder *b, struct rails *s, uint64_t next, struct fault *why);

/* Chunk `number`, if it is here, or NULL; and it is not needed any more. */
const void *reorder_find(const struct reorder *b, uint64_t number, struct rail_chunk *what);
void reorder_release(struct reorder *b, uint64_t number);

void reorder_clear(struct reorder *b);

#endif
