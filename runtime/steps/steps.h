/* SPDX-License-Identifier: MIT */
/*
 * steps.h: what the collective algorithms are written with: transfers as expressions, a buffer's
 * blocks and chunks, and a pipeline of steps.
 *
 * Deadlock can't arise, because the sends and receives of a step are started together and no
 * algorithm relies on a send that ends before its receiver has called.
 */
#ifndef RUNTIME_STEPS_STEPS_H
#define RUNTIME_STEPS_STEPS_H

#include "runtime/group/group.h"
#include "runtime/group/message_op.h"

/* buf + offset; NULL + 0 is NULL. A buffer of no bytes may be NULL, and C leaves NULL + 0
 * undefined. */
static inline char *buffer_at(const void *buf, size_t offset)
{
    return offset ? (char *)(uintptr_t)buf + offset : (char *)(uintptr_t)buf;
}

static inline struct message_op send_to(int peer, const void *buf, size_t size)
{
    return (struct message_op){
        .what = MESSAGE_OP_SEND, .peer = peer, .buf = (void *)(uintptr_t)buf, .size = size};
}

static inline struct message_op recv_from(int peer, void *buf, size_t size)
{
    return (struct message_op){.what = MESSAGE_OP_RECV, .peer = peer, .buf = buf, .size = size};
}

/* into = with op what arrives; if the peer's rank is the lower one, what arrives is the left
 * operand. */
static inline struct message_op reduce_from(const struct group *g, int peer, void *into,
                                            const void *with, size_t size)
{
    return (struct message_op){.what = MESSAGE_OP_REDUCE,
                               .peer = peer,
                               .buf = into,
                               .with = with,
                               .incoming_first = peer < g->rank,
                               .size = size};
}

/* The rank `distance` (>= -size) after this one, around the ring. */
static inline int rank_after(const struct group *g, int distance)
{
    return (g->rank + distance + g->size) % g->size;
}

/*
 * A buffer cut into one block for each rank, and each block into chunks that fit in a cache and are
 * whole units; the last blocks and chunks may be shorter or empty. All ranks of a call cut alike.
 */
struct blocks {
    size_t size;   /* bytes in all */
    size_t block;  /* bytes of each block but the last ones */
    size_t chunk;  /* bytes of each chunk but a block's last ones */
    size_t chunks; /* per block, at least 1 */
};
struct piece {
    size_t offset, size; /* bytes, from the buffer's start */
};

/* The longest part of whole units that is not longer than `most` bytes, or else a unit. */
size_t blocks_part(const struct group *g, size_t most);

/* Cut `size` bytes into n blocks: blocks_cut into whole units, blocks_cut_equal into exactly
 * size / n bytes each. */
void blocks_cut(struct blocks *b, const struct group *g, size_t size, int n);
void blocks_cut_equal(struct blocks *b, const struct group *g, size_t size, int n);

/* Where a block is, and a chunk of a block. A chunk beyond the last one is empty. */
struct piece blocks_block(const struct blocks *b, int block);
struct piece blocks_chunk(const struct blocks *b, int block, size_t chunk);

/*
 * Steps of transfers, of which up to PIPELINE_DEPTH are in flight: while this rank waits for one
 * step, its peers can already work on the next. So a step may use only what PIPELINE_DEPTH steps
 * before it have completed.
 */
enum { PIPELINE_DEPTH = 2 };
struct pipeline {
    struct group *group;
    struct message_op *t; /* where to put the next step's transfers */
    struct message_op *steps[PIPELINE_DEPTH];
    int started[PIPELINE_DEPTH];
    int next;
};

/* Opens a pipeline with room for `most` transfers a step. It lies in the group's scratch memory, as
 * do `size` bytes for the caller at *work, 64-byte aligned; work may be NULL. There is nothing to
 * free. ML_ERR_MEMORY. */
int pipeline_open(struct pipeline *p, struct group *g, int most, void **work, size_t size,
                  struct fault *why);
/* Starts the n transfers in p->t, and waits for the step PIPELINE_DEPTH - 1 before it. Errors as
 * from message_op_wait. */
int pipeline_step(struct pipeline *p, int n, struct fault *why);
/* Waits for the steps that are still in flight. */
int pipeline_close(struct pipeline *p, struct fault *why);

/* Stores `size` bytes of the group's scratch memory in *work (group_scratch), or fails with
 * ML_ERR_MEMORY and a sentence. */
int steps_scratch(struct group *g, void **work, size_t size, struct fault *why);

#endif
