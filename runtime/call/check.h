/* SPDX-License-Identifier: MIT */
/*
 * check.h: checks of a call's arguments, made before anything is sent. Each returns 0 or
 * ML_ERR_ARGUMENT with a sentence in `why`, and leaves the group unharmed.
 */
#ifndef RUNTIME_CALL_CHECK_H
#define RUNTIME_CALL_CHECK_H

#include "runtime/group/group.h"

/* g is not NULL, and it is not gone (ML_ERR_STATE). */
int check_handle(const struct group *g, struct fault *why);

/* The same, and this process and thread may use it (ML_ERR_STATE in a forked child, and in an
 * operator of the program). */
int check_use(const struct group *g, struct fault *why);

/* The same, and no other thread has it (ML_ERR_STATE). In success the calling thread has it for its
 * call until group_release. */
int check_enter(struct group *g, const char *call, struct fault *why);

/* The calling thread is not in an operator of the program. */
int check_no_operator(struct fault *why);

int check_type(ml_type type, struct fault *why);

/* `type` exists, `op` makes sense for it, and `blocks` times `count` elements fit in memory. Stores
 * the bytes of `count` elements in *size. */
int check_reduction(size_t count, ml_type type, ml_op op, size_t blocks, size_t *size,
                    struct fault *why);

/* The same for an operator of the program. */
int check_operator(size_t count, const ml_operator *with, size_t blocks, size_t *size,
                   struct fault *why);

/* blocks * size bytes fit in memory. */
int check_blocks(size_t blocks, size_t size, struct fault *why);

/* The blocks that sizes and offsets describe (one for each of `ranks`; offsets may be NULL) fit in
 * memory and, if they are `apart`, share no byte. Stores where the last one ends in *end. `what`
 * names the array of sizes in the sentence. */
int check_shares(int ranks, const size_t *sizes, const size_t *offsets, bool apart,
                 const char *what, size_t *end, struct fault *why);

/* `rank` is one of g's. `what` names the argument in the sentence. */
int check_refuse_rank(const struct group *g, int rank, const char *what, struct fault *why);
static inline int check_rank(const struct group *g, int rank, const char *what, struct fault *why)
{
    return rank >= 0 && rank < g->size ? 0 : check_refuse_rank(g, rank, what, why);
}

/* `buf` is not NULL unless its size is 0. */
int check_buffer(const void *buf, size_t size, const char *what, struct fault *why);

/* in and out are equal, or share no byte, or in is the block of out at `offset` (SIZE_MAX: that is
 * not allowed). */
int check_overlap(const void *in, size_t in_size, const void *out, size_t out_size, size_t offset,
                  struct fault *why);

/* All of that of a call that reads `in` and writes `out`. */
int check_buffers(const void *in, const void *out, size_t in_size, size_t out_size, size_t offset,
                  struct fault *why);

#endif
