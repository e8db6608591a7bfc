/* SPDX-License-Identifier: MIT */
/*
 * pool.h: blocks of one piece of ml_alloc's memory, for programs that allocate often and want
 * memory that devices have registered and peers have mapped already. First fit, by address; blocks
 * that are freed are merged with free neighbours, so a pool whose blocks are all freed is one piece
 * again. What it knows of its blocks lies elsewhere, so a program that writes beyond a block harms
 * other blocks, but not the pool.
 *
 * Functions with a fault are thread-safe, and ML_ERR_STATE in a forked child of the process that
 * made the pool, where the lock may belong to a thread that the child lacks.
 */
#ifndef RUNTIME_PROCESS_POOL_H
#define RUNTIME_PROCESS_POOL_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct pool;

/* A pool of `size` bytes, at least 1, rounded up to a multiple of `alignment`: a power of two up to
 * the size of a page, or 0 for 64. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int pool_create(struct pool **out, size_t size, size_t alignment, struct fault *why);

/* The same in memory of the caller, all but a rest that is shorter than the alignment; the pool
 * never reads or writes it. ML_ERR_ARGUMENT: it is shorter than that, or not aligned. */
int pool_create_at(struct pool **out, void *memory, size_t size, size_t alignment,
                   struct fault *why);
bool pool_is_foreign(const struct pool *p); /* made by that */

/* Frees its memory, unless that is the caller's, with blocks that were not freed. No other thread
 * may be using the pool. Takes NULL. */
void pool_destroy(struct pool *p);

/* *out: a block of `size` bytes, rounded up to the pool's alignment or longer; its contents are
 * left from before. ML_ERR_MEMORY: no free piece is long enough; the pool is unharmed. */
int pool_take(struct pool *p, size_t size, void **out, struct fault *why);

/* Frees a block; NULL is ignored. ML_ERR_ARGUMENT, and nothing is changed: there is no block that
 * begins at `block`, perhaps because it has been freed. */
int pool_give(struct pool *p, void *block, struct fault *why);

/* Where the pool's memory begins; its size goes to *size. */
void *pool_memory(const struct pool *p, size_t *size);

/* *left: how many bytes are free; *longest: those of the longest block that can be had. */
int pool_left(struct pool *p, size_t *left, size_t *longest, struct fault *why);

#endif
