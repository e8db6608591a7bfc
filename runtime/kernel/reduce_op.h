/* SPDX-License-Identifier: MIT */
/* reduce_op.h: the types and operations of mlaunch.h, and the kernel for each valid pair. Any
 * thread may call these functions. */
#ifndef RUNTIME_KERNEL_REDUCE_OP_H
#define RUNTIME_KERNEL_REDUCE_OP_H

#include "runtime/kernel/reduce_table.h"

#include <stdbool.h>

/* Bytes of one element; 0 for a type that doesn't exist. */
size_t reduce_type_size(int type);

/* "float32", "sum"; "?" for one that doesn't exist. */
const char *reduce_type_name(int type);
const char *reduce_op_name(int op);

/* True if both exist and the operation makes sense for the type (mlaunch.h). */
bool reduce_op_is_valid(int type, int op);

/* The fastest kernel for a valid pair on this CPU, chosen at run time; NULL: the pair is not
 * valid. */
reduce_fn *reduce_op(int type, int op);

/* The kernel for one kind of CPU, for tests of those that reduce_op would not choose here. NULL:
 * the pair is not valid, or this CPU can't run it. */
reduce_fn *reduce_op_for(enum reduce_cpu cpu, int type, int op);

#endif
