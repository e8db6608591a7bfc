/* SPDX-License-Identifier: MIT */
/*
 * reduce_op_float16.c: float16 (IEEE 754 binary16) and bfloat16. Both operands are widened to
 * float32, combined there, and rounded to nearest, ties to even; a block at a time, or on x86 a
 * vector at a time. The conversions in software give the same bits as x86's F16C: a NaN keeps its
 * sign and the upper bits of its payload, and becomes quiet.
 *
 * float16's conversions follow F. Giesen, "float->half variants" (public domain, 2012).
 */
#include "runtime/kernel/reduce_vectors.h"

INLINE uint32_t select_bits(uint32_t condition, uint32_t yes, uint32_t no)
{
    uint32_t mask = -condition;

    return (yes & mask) | (no & ~mask);
}

INLINE float widen_float16(uint16_t half)
{
    uint32_t h = half, sign = (h & 0x8000) << 16, magnitude = (h & 0x7fff) << 13;
    uint32_t exponent = magnitude & 0x0f800000;
    uint32_t normal = magnitude + ((127 - 15) << 23);
    uint32_t special = magnitude + ((255 - 31) << 23); /* infinity, NaN */
    uint32_t quiet = -(uint32_t)(magnitude > 0x0f800000) & 0x00400000;
    float tiny = float_of_bits(magnitude + (113 << 23)) - float_of_bits(113 << 23);
    uint32_t u = select_bits(exponent == 0, bits_of_float(tiny), normal);

    return float_of_bits(select_bits(exponent == 0x0f800000, special | quiet, u) | sign);
}

INLINE uint16_t narrow_float16(float wide)
{
    uint32_t u = bits_of_float(wide), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
    uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    uint32_t special = select_bits(magnitude > 0x7f800000, nan, 0x7c00);
    /* Below 2^-14: the addition shifts the mantissa into place and rounds it, to even. */
    uint32_t magic = (127 - 15 + 23 - 10 + 1) << 23;
    uint32_t tiny = bits_of_float(float_of_bits(magnitude) + float_of_bits(magic)) - magic;
    /* A mantissa that rounds over carries into the exponent, and from 65520 on into infinity. */
    uint32_t normal = (magnitude - ((127 - 15) << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    uint32_t h = select_bits(magnitude < (113 << 23), tiny, normal);

    return (uint16_t)(select_bits(magnitude >= (143u << 23), special, h) | sign);
}

INLINE float widen_bfloat16(uint16_t half)
{
    return float_of_bits((uint32_t)half << 16);
}

INLINE uint16_t narrow_bfloat16(float wide)
{
    uint32_t u = bits_of_float(wide);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;

    return (uint16_t)select_bits((u & 0x7fffffff) > 0x7f800000, (u >> 16) | 0x40, rounded);
}

enum { BLOCK = 256 }; /* elements at a time: three float32 blocks stay in the first-level cache */

#define WIDEN(name, convert)                                                                       \
    static void name(float *out, const any_u16 *in, size_t count)                                  \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) out[i] = convert(in[i]);            \
    }
#define NARROW(name, convert)                                                                      \
    static void name(any_u16 *out, const float *in, size_t count)                                  \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) out[i] = convert(in[i]);            \
    }

WIDEN(widen_float16_all, widen_float16)
NARROW(narrow_float16_all, narrow_float16)
WIDEN(widen_bfloat16_all, widen_bfloat16)
NARROW(narrow_bfloat16_all, narrow_bfloat16)

#define COMBINE(type, op)                                                                          \
    static void op##_##type##_any(void *out, const void *a, const void *b, size_t count)           \
    {                                                                                              \
        float x[BLOCK], y[BLOCK];                                                                  \
                                                                                                   \
        for (size_t done = 0, n; done < count; done += n) {                                        \
            n = count - done < BLOCK ? count - done : BLOCK;                                       \
            widen_##type##_all(x, (const any_u16 *)a + done, n);                                   \
            widen_##type##_all(y, (const any_u16 *)b + done, n);                                   \
            _Pragma("omp simd") for (size_t i = 0; i < n; i++) x[i] = float_##op(x[i], y[i]);      \
            narrow_##type##_all((any_u16 *)out + done, x, n);                                      \
        }                                                                                          \
    }

#if defined(__x86_64__)
#define KERNELS_OF(type, op, wide, format, computed_in)                                            \
    COMBINE(type, op)                                                                              \
    VECTOR_LOOPS(op##_##type, 2, wide, format, op##_##computed_in)
#else
#define KERNELS_OF(type, op, wide, format, computed_in) COMBINE(type, op)
#endif

KERNELS_OF(float16, sum, 4, f16, f32)
KERNELS_OF(float16, prod, 4, f16, f32)
KERNELS_OF(float16, min, 4, f16, f32)
KERNELS_OF(float16, max, 4, f16, f32)
KERNELS_OF(bfloat16, sum, 2, bits, bf16)
KERNELS_OF(bfloat16, prod, 2, bits, bf16)
KERNELS_OF(bfloat16, min, 2, bits, bf16)
KERNELS_OF(bfloat16, max, 2, bits, bf16)

#define KERNELS(type, cpu)                                                                         \
    {                                                                                              \
        [ML_SUM] = sum_##type##_##cpu, [ML_PROD] = prod_##type##_##cpu,                            \
        [ML_MIN] = min_##type##_##cpu, [ML_MAX] = max_##type##_##cpu,                              \
    }

const reduce_table reduce_float16 = REDUCE_TABLE(float16);
const reduce_table reduce_bfloat16 = REDUCE_TABLE(bfloat16);
