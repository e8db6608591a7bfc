/* SPDX-License-Identifier: MIT */
/*
 * reduce_kernels.h: what the files of kernels share: macros that write a loop once and compile it
 * for three kinds of CPU, and the arithmetic of float32.
 *
 * The same operands must give the same bits on every rank, wherever an element falls: in a vector
 * or in the rest of the loop, on this CPU or an older one. So there is no fused multiply-add
 * (-ffp-contract=off) and no reassociation. Nor may a result depend on which NaN an instruction
 * prefers, because compilers swap the operands of + and *: nan_first() makes the left operand's NaN
 * win explicitly.
 */
#ifndef RUNTIME_KERNEL_REDUCE_KERNELS_H
#define RUNTIME_KERNEL_REDUCE_KERNELS_H

#include "runtime/kernel/reduce_table.h"

#include <stdint.h>
#include <string.h>

/* The table of a type (reduce_table.h), from the file's own macro KERNELS(type, cpu). */
#if defined(__x86_64__)
#define REDUCE_TABLE(type)                                                                         \
    {                                                                                              \
        [CPU_ANY] = KERNELS(type, any), [CPU_AVX2] = KERNELS(type, avx2),                          \
        [CPU_AVX512] = KERNELS(type, avx512),                                                      \
    }
#else
#define REDUCE_TABLE(type)                                                                         \
    {                                                                                              \
        [CPU_ANY] = KERNELS(type, any)                                                             \
    }
#endif

#if defined(__x86_64__)
#define TARGET_AVX2   __attribute__((target("avx2,f16c")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#endif
#define INLINE static inline __attribute__((always_inline))

/* Elements as they lie in a user's buffer: at any address, and of any type in the program's
 * eyes. */
#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef uint8_t ANYWHERE any_u8;
typedef uint16_t ANYWHERE any_u16;
typedef uint32_t ANYWHERE any_u32;
typedef uint64_t ANYWHERE any_u64;
typedef int8_t ANYWHERE any_i8;
typedef int16_t ANYWHERE any_i16;
typedef int32_t ANYWHERE any_i32;
typedef int64_t ANYWHERE any_i64;
typedef float ANYWHERE any_f32;
typedef double ANYWHERE any_f64;

/* Defines name_any, name_avx2 and name_avx512. `omp simd` (-fopenmp-simd, without the OpenMP
 * library) tells gcc and clang at any level of optimisation that the iterations are independent.
 * That also holds for out == a and out == b. */
#if defined(__x86_64__)
#define REDUCE_LOOP(name, element, combine)                                                        \
    REDUCE_LOOP_FOR(, name##_any, element, combine)                                                \
    REDUCE_LOOP_FOR(TARGET_AVX2, name##_avx2, element, combine)                                    \
    REDUCE_LOOP_FOR(TARGET_AVX512, name##_avx512, element, combine)
/* For a loop that is faster in AVX2's code even on a CPU with AVX-512. */
#define REDUCE_LOOP_NARROW(name, element, combine)                                                 \
    REDUCE_LOOP_FOR(, name##_any, element, combine)                                                \
    REDUCE_LOOP_FOR(TARGET_AVX2, name##_avx2, element, combine)                                    \
    REDUCE_LOOP_FOR(TARGET_AVX2, name##_avx512, element, combine)
#else
#define REDUCE_LOOP(name, element, combine)        REDUCE_LOOP_FOR(, name##_any, element, combine)
#define REDUCE_LOOP_NARROW(name, element, combine) REDUCE_LOOP(name, element, combine)
#endif
#define REDUCE_LOOP_FOR(target, name, element, combine)                                            \
    target static void name(void *out, const void *a, const void *b, size_t count)                 \
    {                                                                                              \
        element *o = out;                                                                          \
        const element *x = a, *y = b;                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) o[i] = combine(x[i], y[i]);         \
    }

/* The bits of a float32, and back. */
INLINE uint32_t bits_of_float(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

INLINE float float_of_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

/* a's NaN, made quiet, if a is one; else `result`. It uses masks instead of ?:, which would keep
 * loops from being vectorised (a branch around an operation that may trap). */
INLINE float nan_first(float a, float result)
{
    uint32_t mask = -(uint32_t)(a != a);

    return float_of_bits(((bits_of_float(a) | 0x00400000) & mask) |
                         (bits_of_float(result) & ~mask));
}

/* The arithmetic of float32, in which float16, bfloat16 and complex64 are also computed. */
INLINE float float_sum(float a, float b)
{
    return nan_first(a, a + b);
}

INLINE float float_difference(float a, float b)
{
    return nan_first(a, a - b);
}

INLINE float float_prod(float a, float b)
{
    return nan_first(a, a * b);
}

/* If both are equal (0 and -0), the left one. */
INLINE float float_min(float a, float b)
{
    uint32_t mask = -(uint32_t)(b < a);
    uint32_t least = (bits_of_float(b) & mask) | (bits_of_float(a) & ~mask);

    return nan_first(a, nan_first(b, float_of_bits(least)));
}

INLINE float float_max(float a, float b)
{
    uint32_t mask = -(uint32_t)(b > a);
    uint32_t most = (bits_of_float(b) & mask) | (bits_of_float(a) & ~mask);

    return nan_first(a, nan_first(b, float_of_bits(most)));
}

#endif
