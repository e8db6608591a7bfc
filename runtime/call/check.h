/* SPDX-License-Identifier: MIT */
/*
 * check.h: what can be wrong with a call's arguments, found before anything has been sent:
 * ML_ERR_ARGUMENT, and the group is unharmed.
 */
#ifndef RUNTIME_CALL_CHECK_H
#define RUNTIME_CALL_CHECK_H

#include "runtime/group/group.h"

/* The group is one, and this process may use it (ML_ERR_STATE in a forked child). */
int check_group(const struct group *g, struct fault *why);

/* *size = count elements of `type`, which `op` makes sense for; `blocks` times that must exist too.
 */
int check_reduction(size_t count, ml_type type, ml_op op, size_t blocks, size_t *size,
                    struct fault *why);

/* blocks * size bytes can exist. */
int check_blocks(size_t blocks, size_t size, struct fault *why);

int check_rank(const struct group *g, int rank, const char *what, struct fault *why);

/* `buf` is not NULL unless its size is 0. */
int check_buffer(const void *buf, size_t size, const char *what, struct fault *why);

/* in and out are the same, or share no byte; or in is out's block at `offset` (SIZE_MAX: may not
 * be). */
int check_overlap(const void *in, size_t in_size, const void *out, size_t out_size, size_t offset,
                  struct fault *why);

#endif
