/* SPDX-License-Identifier: MIT */
/*
 * reduce_vectors.h: kernels for float32, float64, float16 and bfloat16 in x86's vectors, which a
 * compiler may not make of the loops in reduce_kernels.h. There, masks make the left operand's NaN
 * win; here, the order of an instruction's operands does. That is Intel's and AMD's rule (Intel SDM
 * volume 1, table 4-7), and only assembly can rely on it, since compilers swap the operands of +
 * and *.
 *
 * The conversion of AVX512_BF16 is not used, because it takes denormals for 0.
 */
#ifndef RUNTIME_KERNEL_REDUCE_VECTORS_H
#define RUNTIME_KERNEL_REDUCE_VECTORS_H

#include "runtime/kernel/reduce_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define IN_ORDER(target, name, vector, instruction)                                                \
    target INLINE vector name(vector a, vector b)                                                  \
    {                                                                                              \
        vector result;                                                                             \
                                                                                                   \
        __asm__(instruction " %2, %1, %0" : "=v"(result) : "v"(a), "vm"(b));                       \
        return result;                                                                             \
    }

IN_ORDER(TARGET_AVX2, sum_f32_avx2, __m256, "vaddps")
IN_ORDER(TARGET_AVX2, prod_f32_avx2, __m256, "vmulps")
IN_ORDER(TARGET_AVX2, sum_f64_avx2, __m256d, "vaddpd")
IN_ORDER(TARGET_AVX2, prod_f64_avx2, __m256d, "vmulpd")
IN_ORDER(TARGET_AVX2, alternate_f32_avx2, __m256, "vaddsubps")
IN_ORDER(TARGET_AVX512, sum_f32_avx512, __m512, "vaddps")
IN_ORDER(TARGET_AVX512, prod_f32_avx512, __m512, "vmulps")
IN_ORDER(TARGET_AVX512, difference_f32_avx512, __m512, "vsubps")
IN_ORDER(TARGET_AVX512, sum_f64_avx512, __m512d, "vaddpd")
IN_ORDER(TARGET_AVX512, prod_f64_avx512, __m512d, "vmulpd")

/* If the operands are equal or one is a NaN, the instruction returns its second operand, a. NaNs
 * are taken from the sum. */
#define EXTREME_AVX2(op, suffix, type, vector)                                                     \
    TARGET_AVX2 INLINE vector op##_##type##_avx2(vector a, vector b)                               \
    {                                                                                              \
        return _mm256_blendv_##suffix(_mm256_##op##_##suffix(b, a), sum_##type##_avx2(a, b),       \
                                      _mm256_cmp_##suffix(a, b, _CMP_UNORD_Q));                    \
    }
EXTREME_AVX2(min, ps, f32, __m256)
EXTREME_AVX2(max, ps, f32, __m256)
EXTREME_AVX2(min, pd, f64, __m256d)
EXTREME_AVX2(max, pd, f64, __m256d)

#define EXTREME_AVX512(op, suffix, type, vector)                                                   \
    TARGET_AVX512 INLINE vector op##_##type##_avx512(vector a, vector b)                           \
    {                                                                                              \
        return _mm512_mask_mov_##suffix(_mm512_##op##_##suffix(b, a),                              \
                                        _mm512_cmp_##suffix##_mask(a, b, _CMP_UNORD_Q),            \
                                        sum_##type##_avx512(a, b));                                \
    }
EXTREME_AVX512(min, ps, f32, __m512)
EXTREME_AVX512(max, ps, f32, __m512)
EXTREME_AVX512(min, pd, f64, __m512d)
EXTREME_AVX512(max, pd, f64, __m512d)

/* --- complex64 ---------------------------------------------------------------------------------
 */

/* (re, im) * (re2, im2) = (re re2 - im im2, re im2 + im re2). */
enum { SWAP = 0xb1 /* exchanges the two numbers of each pair */ };

TARGET_AVX2 INLINE __m256 prod_c64_avx2(__m256 a, __m256 b)
{
    __m256 left = prod_f32_avx2(_mm256_moveldup_ps(a), b);
    __m256 right = prod_f32_avx2(_mm256_movehdup_ps(a), _mm256_permute_ps(b, SWAP));

    return alternate_f32_avx2(left, right);
}

TARGET_AVX512 INLINE __m512 prod_c64_avx512(__m512 a, __m512 b)
{
    __m512 left = prod_f32_avx512(_mm512_moveldup_ps(a), b);
    __m512 right = prod_f32_avx512(_mm512_movehdup_ps(a), _mm512_permute_ps(b, SWAP));

    return _mm512_mask_mov_ps(sum_f32_avx512(left, right), 0x5555,
                              difference_f32_avx512(left, right));
}

/* --- loads and stores --------------------------------------------------------------------------
 */

TARGET_AVX2 INLINE __m256 load_f32_avx2(const void *p)
{
    return _mm256_loadu_ps(p);
}

TARGET_AVX2 INLINE void store_f32_avx2(void *p, __m256 v)
{
    _mm256_storeu_ps(p, v);
}

TARGET_AVX2 INLINE __m256d load_f64_avx2(const void *p)
{
    return _mm256_loadu_pd(p);
}

TARGET_AVX2 INLINE void store_f64_avx2(void *p, __m256d v)
{
    _mm256_storeu_pd(p, v);
}

TARGET_AVX512 INLINE __m512 load_f32_avx512(const void *p)
{
    return _mm512_loadu_ps(p);
}

TARGET_AVX512 INLINE void store_f32_avx512(void *p, __m512 v)
{
    _mm512_storeu_ps(p, v);
}

TARGET_AVX512 INLINE __m512d load_f64_avx512(const void *p)
{
    return _mm512_loadu_pd(p);
}

TARGET_AVX512 INLINE void store_f64_avx512(void *p, __m512d v)
{
    _mm512_storeu_pd(p, v);
}

/* --- float16 and bfloat16, computed as float32 --------------------------------------------------
 */

TARGET_AVX2 INLINE __m256 load_f16_avx2(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

TARGET_AVX2 INLINE void store_f16_avx2(void *p, __m256 wide)
{
    _mm_storeu_si128(p, _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT));
}

TARGET_AVX512 INLINE __m512 load_f16_avx512(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

TARGET_AVX512 INLINE void store_f16_avx512(void *p, __m512 wide)
{
    _mm256_storeu_si256(p, _mm512_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT));
}

/* Two bfloat16 lie in 32 bits. Each is a float32 where it is, once the other one is shifted out or
 * masked, so nothing needs to be shuffled. Rounds as narrow_bfloat16 in reduce_op_float16.c does.
 * NaNs, which the instructions above have made quiet, only lose their lower half. */
TARGET_AVX2 INLINE __m256i round_bf16_avx2(__m256 wide)
{
    __m256i u = _mm256_castps_si256(wide);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i is_number = _mm256_castps_si256(_mm256_cmp_ps(wide, wide, _CMP_ORD_Q));

    return _mm256_add_epi32(u, _mm256_and_si256(half, is_number));
}

TARGET_AVX512 INLINE __m512i round_bf16_avx512(__m512 wide)
{
    __m512i u = _mm512_castps_si512(wide);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    __mmask16 is_number = _mm512_cmp_ps_mask(wide, wide, _CMP_ORD_Q);

    return _mm512_mask_add_epi32(u, is_number, u, half);
}

#define BFLOAT16_AVX2(op)                                                                          \
    TARGET_AVX2 INLINE __m256i op##_bf16_avx2(__m256i a, __m256i b)                                \
    {                                                                                              \
        __m256i upper = _mm256_set1_epi32((int)0xffff0000);                                        \
        __m256 first = op##_f32_avx2(_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)),                \
                                     _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)));               \
        __m256 second = op##_f32_avx2(_mm256_castsi256_ps(_mm256_and_si256(a, upper)),             \
                                      _mm256_castsi256_ps(_mm256_and_si256(b, upper)));            \
                                                                                                   \
        return _mm256_or_si256(_mm256_srli_epi32(round_bf16_avx2(first), 16),                      \
                               _mm256_and_si256(round_bf16_avx2(second), upper));                  \
    }
BFLOAT16_AVX2(sum)
BFLOAT16_AVX2(prod)
BFLOAT16_AVX2(min)
BFLOAT16_AVX2(max)

#define BFLOAT16_AVX512(op)                                                                        \
    TARGET_AVX512 INLINE __m512i op##_bf16_avx512(__m512i a, __m512i b)                            \
    {                                                                                              \
        __m512i upper = _mm512_set1_epi32((int)0xffff0000);                                        \
        __m512 first = op##_f32_avx512(_mm512_castsi512_ps(_mm512_slli_epi32(a, 16)),              \
                                       _mm512_castsi512_ps(_mm512_slli_epi32(b, 16)));             \
        __m512 second = op##_f32_avx512(_mm512_castsi512_ps(_mm512_and_si512(a, upper)),           \
                                        _mm512_castsi512_ps(_mm512_and_si512(b, upper)));          \
                                                                                                   \
        return _mm512_or_si512(_mm512_srli_epi32(round_bf16_avx512(first), 16),                    \
                               _mm512_and_si512(round_bf16_avx512(second), upper));                \
    }
BFLOAT16_AVX512(sum)
BFLOAT16_AVX512(prod)
BFLOAT16_AVX512(min)
BFLOAT16_AVX512(max)

TARGET_AVX2 INLINE __m256i load_bits_avx2(const void *p)
{
    return _mm256_loadu_si256(p);
}

TARGET_AVX2 INLINE void store_bits_avx2(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
}

TARGET_AVX512 INLINE __m512i load_bits_avx512(const void *p)
{
    return _mm512_loadu_si512(p);
}

TARGET_AVX512 INLINE void store_bits_avx512(void *p, __m512i v)
{
    _mm512_storeu_si512(p, v);
}

/* --- loops -------------------------------------------------------------------------------------
 */

/* Defines the kernel `name`_`cpu`, on vectors of `lanes` elements that take `bytes` in memory. It
 * leaves the last elements to `name`_any, which gives the same bits. */
#define VECTOR_LOOP(target, name, cpu, lanes, bytes, format, combine)                              \
    target static void name##_##cpu(void *out, const void *a, const void *b, size_t count)         \
    {                                                                                              \
        const char *x = a, *y = b;                                                                 \
        char *o = out;                                                                             \
                                                                                                   \
        for (; count >= (lanes); count -= (lanes), o += (bytes), x += (bytes), y += (bytes))       \
            store_##format##_##cpu(                                                                \
                o, combine##_##cpu(load_##format##_##cpu(x), load_##format##_##cpu(y)));           \
        if (count)                                                                                 \
            name##_any(o, x, y, count);                                                            \
    }

/* Defines the kernels for both kinds of CPU. `size` is an element's size in memory, `wide` in the
 * vector that is loaded. */
#define VECTOR_LOOPS(name, size, wide, format, combine)                                            \
    VECTOR_LOOP(TARGET_AVX2, name, avx2, 32 / (wide), 32 / (wide) * (size), format, combine)       \
    VECTOR_LOOP(TARGET_AVX512, name, avx512, 64 / (wide), 64 / (wide) * (size), format, combine)

#endif
#endif
