/* SPDX-License-Identifier: MIT */
/*
 * reduce_table.h: the tables of kernels that reduce_op.c chooses from. Each file of kernels
 * (reduce_op_float.c, …) defines those of its types, for three kinds of CPU.
 */
#ifndef RUNTIME_KERNEL_REDUCE_TABLE_H
#define RUNTIME_KERNEL_REDUCE_TABLE_H

#include "common/mlaunch.h"

#include <stddef.h>

enum { REDUCE_TYPES = ML_COMPLEX64 + 1, REDUCE_OPS = ML_XOR + 1 };

/* CPU_ANY is what the compiler may assume anyway. On x86, CPU_AVX2 includes F16C, and CPU_AVX512 is
 * F, BW, DQ and VL. */
enum reduce_cpu { CPU_ANY, CPU_AVX2, CPU_AVX512, REDUCE_CPUS };

/* out[i] = a[i] op b[i] for `count` elements. out may equal a or b, but not overlap them otherwise.
 * The pointers need no alignment. The same operands give the same bits whatever the count and the
 * alignment: nothing is reassociated. */
typedef void reduce_fn(void *out, const void *a, const void *b, size_t count);

/* NULL where the operation makes no sense for the type. */
typedef reduce_fn *reduce_table[REDUCE_CPUS][REDUCE_OPS];

extern const reduce_table reduce_bool;
extern const reduce_table reduce_int8, reduce_int16, reduce_int32, reduce_int64;
extern const reduce_table reduce_uint8, reduce_uint16, reduce_uint32, reduce_uint64;
extern const reduce_table reduce_float16, reduce_bfloat16;
extern const reduce_table reduce_float32, reduce_float64, reduce_complex64;

#endif
