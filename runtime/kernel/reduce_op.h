/* SPDX-License-Identifier: MIT */
/* reduce_op.h: out[i] = a[i] op b[i] for every type and op of mlaunch.h. */
#ifndef RUNTIME_KERNEL_REDUCE_OP_H
#define RUNTIME_KERNEL_REDUCE_OP_H

#include "common/mlaunch.h"

#include <stdbool.h>

/* Bytes of one element; 0 for a type that doesn't exist. */
size_t reduce_type_size(int type);
const char *reduce_type_name(int type); /* "float32"; "?" */
const char *reduce_op_name(int op);

/* Whether the pair makes sense (mlaunch.h). */
bool reduce_op_is_valid(int type, int op);

/* out may equal a or b, no other overlap; pointers aligned to the element's alignment, or not: any
 * address works. Same bits for the same operands whatever count and alignment (no reassociation). */
typedef void reduce_fn(void *out, const void *a, const void *b, size_t count);

/* The kernel for a valid pair, the fastest for this CPU (chosen at run time); NULL otherwise. */
reduce_fn *reduce_op(int type, int op);

#endif
