/* SPDX-License-Identifier: MIT */
/*
 * reduce_op_integer.c: the integers and ML_BOOL. Sums and products wrap: they are computed unsigned
 * and in at least 32 bits, because uint16_t * uint16_t would be promoted to a signed int, which may
 * overflow.
 */
#include "runtime/kernel/reduce_kernels.h"

#define SUM(a, b)    ((a) + (b))
#define PROD32(a, b) ((uint32_t)(a) * (uint32_t)(b))
#define PROD64(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define MIN(a, b)    ((b) < (a) ? (b) : (a))
#define MAX(a, b)    ((b) > (a) ? (b) : (a))
#define AND(a, b)    ((a) & (b))
#define OR(a, b)     ((a) | (b))
#define XOR(a, b)    ((a) ^ (b))

/* The operations of signed and unsigned integers of one size. */
#define WRAPPING(bits)                                                                             \
    REDUCE_LOOP(sum##bits, any_u##bits, SUM)                                                       \
    REDUCE_LOOP(and##bits, any_u##bits, AND)                                                       \
    REDUCE_LOOP(or ##bits, any_u##bits, OR)                                                        \
    REDUCE_LOOP(xor##bits, any_u##bits, XOR)                                                       \
    REDUCE_LOOP(min_i##bits, any_i##bits, MIN)                                                     \
    REDUCE_LOOP(max_i##bits, any_i##bits, MAX)                                                     \
    REDUCE_LOOP(min_u##bits, any_u##bits, MIN)                                                     \
    REDUCE_LOOP(max_u##bits, any_u##bits, MAX)

WRAPPING(8)
WRAPPING(16)
WRAPPING(32)
WRAPPING(64)

/* There is no multiplication of bytes, and AVX-512's of 64 bits is half as fast as AVX2's, which is
 * composed of others (tests/bench/reduce_kernels.c). */
REDUCE_LOOP_NARROW(prod8, any_u8, PROD32)
REDUCE_LOOP(prod16, any_u16, PROD32)
REDUCE_LOOP(prod32, any_u32, PROD32)
REDUCE_LOOP_NARROW(prod64, any_u64, PROD64)

#define KERNELS_OF(bits, sign, cpu)                                                                \
    {                                                                                              \
        [ML_SUM] = sum##bits##_##cpu, [ML_PROD] = prod##bits##_##cpu,                              \
        [ML_MIN] = min_##sign##bits##_##cpu, [ML_MAX] = max_##sign##bits##_##cpu,                  \
        [ML_AND] = and##bits##_##cpu, [ML_OR] = or ##bits##_##cpu, [ML_XOR] = xor##bits##_##cpu,   \
    }

#define KERNELS(bits, cpu) KERNELS_OF(bits, i, cpu)
const reduce_table reduce_int8 = REDUCE_TABLE(8);
const reduce_table reduce_int16 = REDUCE_TABLE(16);
const reduce_table reduce_int32 = REDUCE_TABLE(32);
const reduce_table reduce_int64 = REDUCE_TABLE(64);

#undef KERNELS
#define KERNELS(bits, cpu) KERNELS_OF(bits, u, cpu)
const reduce_table reduce_uint8 = REDUCE_TABLE(8);
const reduce_table reduce_uint16 = REDUCE_TABLE(16);
const reduce_table reduce_uint32 = REDUCE_TABLE(32);
const reduce_table reduce_uint64 = REDUCE_TABLE(64);

/* Any value but 0 is true; results are 0 or 1. */
#define BOTH(a, b)   (((a) != 0) & ((b) != 0))
#define EITHER(a, b) (((a) | (b)) != 0)
#define ONE(a, b)    (((a) != 0) ^ ((b) != 0))

REDUCE_LOOP(both, any_u8, BOTH)
REDUCE_LOOP(either, any_u8, EITHER)
REDUCE_LOOP(one, any_u8, ONE)

#undef KERNELS
#define KERNELS(type, cpu)                                                                         \
    {                                                                                              \
        [ML_SUM] = either_##cpu, [ML_PROD] = both_##cpu, [ML_MIN] = both_##cpu,                    \
        [ML_MAX] = either_##cpu, [ML_AND] = both_##cpu, [ML_OR] = either_##cpu,                    \
        [ML_XOR] = one_##cpu,                                                                      \
    }
const reduce_table reduce_bool = REDUCE_TABLE(bool);
