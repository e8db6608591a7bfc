/* SPDX-License-Identifier: MIT */
/*
 * reduce_op_integer.c: the integers and ML_BOOL. Sums and products wrap: they are computed
 * unsigned, in at least 32 bits, because uint16_t * uint16_t would be promoted to a signed int and
 * may overflow it.
 */
#include "runtime/reduce_kernels.h"

#define SUM(a, b)    ((a) + (b))
#define PROD32(a, b) ((uint32_t)(a) * (uint32_t)(b))
#define PROD64(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define MIN(a, b)    ((b) < (a) ? (b) : (a))
#define MAX(a, b)    ((b) > (a) ? (b) : (a))
#define AND(a, b)    ((a) & (b))
#define OR(a, b)     ((a) | (b))
#define XOR(a, b)    ((a) ^ (b))

/* What is the same for signed and unsigned. */
#define WRAPPING(bits, PROD)                                                                       \
    REDUCE_LOOP(sum##bits, any_u##bits, SUM)                                                       \
    REDUCE_LOOP(prod##bits, any_u##bits, PROD)                                                     \
    REDUCE_LOOP(and##bits, any_u##bits, AND)                                                       \
    REDUCE_LOOP(or ##bits, any_u##bits, OR)                                                        \
    REDUCE_LOOP(xor##bits, any_u##bits, XOR)                                                       \
    REDUCE_LOOP(min_i##bits, any_i##bits, MIN)                                                     \
    REDUCE_LOOP(max_i##bits, any_i##bits, MAX)                                                     \
    REDUCE_LOOP(min_u##bits, any_u##bits, MIN)                                                     \
    REDUCE_LOOP(max_u##bits, any_u##bits, MAX)

WRAPPING(8, PROD32)
WRAPPING(16, PROD32)
WRAPPING(32, PROD32)
WRAPPING(64, PROD64)

#define KERNELS(cpu, bits, sign)                                                                   \
    {                                                                                              \
        [ML_SUM] = sum##bits##_##cpu, [ML_PROD] = prod##bits##_##cpu,                              \
        [ML_MIN] = min_##sign##bits##_##cpu, [ML_MAX] = max_##sign##bits##_##cpu,                  \
        [ML_AND] = and##bits##_##cpu, [ML_OR] = or ##bits##_##cpu, [ML_XOR] = xor##bits##_##cpu,   \
    }
#define TABLE(bits, sign)                                                                          \
    {                                                                                              \
        [CPU_ANY] = KERNELS(any, bits, sign), [CPU_AVX2] = KERNELS(avx2, bits, sign),              \
    }

const reduce_table reduce_int8 = TABLE(8, i);
const reduce_table reduce_int16 = TABLE(16, i);
const reduce_table reduce_int32 = TABLE(32, i);
const reduce_table reduce_int64 = TABLE(64, i);
const reduce_table reduce_uint8 = TABLE(8, u);
const reduce_table reduce_uint16 = TABLE(16, u);
const reduce_table reduce_uint32 = TABLE(32, u);
const reduce_table reduce_uint64 = TABLE(64, u);

/* Whatever is not 0 is true; results are 0 or 1. */
#define BOTH(a, b)   (((a) != 0) & ((b) != 0))
#define EITHER(a, b) (((a) | (b)) != 0)
#define ONE(a, b)    (((a) != 0) ^ ((b) != 0))

REDUCE_LOOP(both, any_u8, BOTH)
REDUCE_LOOP(either, any_u8, EITHER)
REDUCE_LOOP(one, any_u8, ONE)

#define BOOL_KERNELS(cpu)                                                                          \
    {                                                                                              \
        [ML_SUM] = either_##cpu, [ML_PROD] = both_##cpu, [ML_MIN] = both_##cpu,                    \
        [ML_MAX] = either_##cpu, [ML_AND] = both_##cpu, [ML_OR] = either_##cpu,                    \
        [ML_XOR] = one_##cpu,                                                                      \
    }

const reduce_table reduce_bool = {
    [CPU_ANY] = BOOL_KERNELS(any),
    [CPU_AVX2] = BOOL_KERNELS(avx2),
};
