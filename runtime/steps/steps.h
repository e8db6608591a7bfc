/* SPDX-License-Identifier: MIT */
/*
 * steps.h: how the collective algorithms are written: transfers as expressions, blocks and chunks
 * of a buffer, and a pipeline of steps.
 *
 * Deadlock can't arise, because a step's sends and receives are started together and no algorithm
 * relies on a send that ends before its receiver has come.
 */
#ifndef RUNTIME_STEPS_STEPS_H
#define RUNTIME_STEPS_STEPS_H

#include "runtime/group/group.h"
#include "runtime/group/transfer.h"

/* buf + offset, where NULL + 0 is NULL: a buffer of no bytes may be NULL, and C leaves NULL + 0 open. */
static inline char *buffer_at(const void *buf, size_t offset)
{
    return offset ? (char *)(uintptr_t)buf + offset : (char *)(uintptr_t)buf;
}

static inline struct transfer send_to(int peer, const void *buf, size_t size)
{
    return (struct transfer){
        .what = TRANSFER_SEND, .peer = peer, .buf = (void *)(uintptr_t)buf, .size = size};
}

static inline struct transfer recv_from(int peer, void *buf, size_t size)
{
    return (struct transfer){.what = TRANSFER_RECV, .peer = peer, .buf = buf, .size = size};
}

/* into = with op what comes; if the peer's rank is the lower one, what comes stands left. */
static inline struct transfer reduce_from(const struct group *g, int peer, void *into,
                                          const void *with, size_t size)
{
    return (struct transfer){.what = TRANSFER_REDUCE,
                             .peer = peer,
                             .buf = into,
                             .with = with,
                             .incoming_first = peer < g->rank,
                             .size = size};
}

/* The rank `distance` (>= -size) behind this one, around the ring. */
static inline int rank_after(const struct group *g, int distance)
{
    return (g->rank + distance + g->size) % g->size;
}

/*
 * A buffer cut into one block a rank, and each block into chunks that fit in a cache and are whole
 * cache lines; the last blocks and chunks may be shorter or empty. All ranks of a call cut alike.
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

/* Cuts `size` bytes into n blocks; equal ones of exactly size / n bytes, or as lines fall. */
void blocks_cut(struct blocks *b, size_t size, int n);
void blocks_cut_equal(struct blocks *b, size_t size, int n);

struct piece blocks_block(const struct blocks *b, int block);
/* A chunk beyond the last is empty. */
struct piece blocks_chunk(const struct blocks *b, int block, size_t chunk);

/*
 * Steps of transfers, of which up to PIPELINE_DEPTH are in flight: while one is waited for, the
 * peers already find the next. So a step may use only what is complete PIPELINE_DEPTH steps
 * earlier.
 */
enum { PIPELINE_DEPTH = 2 };
struct pipeline {
    struct group *group;
    struct transfer *t; /* where to put the next step's transfers */
    struct transfer *steps[PIPELINE_DEPTH];
    int started[PIPELINE_DEPTH];
    int next;
};

/* With room for `most` transfers a step. It lives in the group's scratch, and so do `size` bytes
 * for the caller: *work, 64-byte aligned; work may be NULL. ML_ERR_MEMORY. */
int pipeline_open(struct pipeline *p, struct group *g, int most, void **work, size_t size,
                  struct fault *why);
/* Starts the n transfers in p->t and completes the step PIPELINE_DEPTH - 1 before it. */
int pipeline_step(struct pipeline *p, int n, struct fault *why);
int pipeline_close(struct pipeline *p, struct fault *why); /* completes the rest */

/* *work: the group's scratch, or ML_ERR_MEMORY with its sentence. */
int steps_scratch(struct group *g, void **work, size_t size, struct fault *why);

#endif
