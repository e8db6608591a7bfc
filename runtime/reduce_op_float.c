/* SPDX-License-Identifier: MIT */
/* reduce_op_float.c: float32, float64, complex64. */
#include "runtime/reduce_kernels.h"

REDUCE_LOOP(sum32, any_f32, float_sum)
REDUCE_LOOP(prod32, any_f32, float_prod)
REDUCE_LOOP(min32, any_f32, float_min)
REDUCE_LOOP(max32, any_f32, float_max)

INLINE uint64_t bits_of_double(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof(u));
    return u;
}

INLINE double double_of_bits(uint64_t u)
{
    double d;

    memcpy(&d, &u, sizeof(d));
    return d;
}

/* As nan_first. */
INLINE double nan_first64(double a, double result)
{
    uint64_t mask = -(uint64_t)(a != a);

    return double_of_bits(((bits_of_double(a) | 0x0008000000000000) & mask) |
                          (bits_of_double(result) & ~mask));
}

INLINE double double_sum(double a, double b)
{
    return nan_first64(a, a + b);
}

INLINE double double_prod(double a, double b)
{
    return nan_first64(a, a * b);
}

INLINE double double_min(double a, double b)
{
    uint64_t mask = -(uint64_t)(b < a);
    uint64_t least = (bits_of_double(b) & mask) | (bits_of_double(a) & ~mask);

    return nan_first64(a, nan_first64(b, double_of_bits(least)));
}

INLINE double double_max(double a, double b)
{
    uint64_t mask = -(uint64_t)(b > a);
    uint64_t most = (bits_of_double(b) & mask) | (bits_of_double(a) & ~mask);

    return nan_first64(a, nan_first64(b, double_of_bits(most)));
}

REDUCE_LOOP(sum64, any_f64, double_sum)
REDUCE_LOOP(prod64, any_f64, double_prod)
REDUCE_LOOP(min64, any_f64, double_min)
REDUCE_LOOP(max64, any_f64, double_max)

/* Two float32, real and imaginary. */
#define COMPLEX_SUM(target, name)                                                                  \
    target static void name(void *out, const void *a, const void *b, size_t count)                 \
    {                                                                                              \
        any_f32 *o = out;                                                                          \
        const any_f32 *x = a, *y = b;                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < 2 * count; i++) o[i] = float_sum(x[i], y[i]);   \
    }
COMPLEX_SUM(, sum_complex_any)
COMPLEX_SUM(TARGET_AVX2, sum_complex_avx2)

/* The schoolbook product; C's annex G would repair infinities, which no peer does. */
#define COMPLEX_PROD(target, name)                                                                 \
    target static void name(void *out, const void *a, const void *b, size_t count)                 \
    {                                                                                              \
        any_f32 *o = out;                                                                          \
        const any_f32 *x = a, *y = b;                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++)                                     \
        {                                                                                          \
            float re = x[2 * i], im = x[2 * i + 1], re2 = y[2 * i], im2 = y[2 * i + 1];            \
                                                                                                   \
            o[2 * i] = float_difference(float_prod(re, re2), float_prod(im, im2));                 \
            o[2 * i + 1] = float_sum(float_prod(re, im2), float_prod(im, re2));                    \
        }                                                                                          \
    }
COMPLEX_PROD(, prod_complex_any)
COMPLEX_PROD(TARGET_AVX2, prod_complex_avx2)

#define KERNELS(cpu, bits)                                                                         \
    {                                                                                              \
        [ML_SUM] = sum##bits##_##cpu, [ML_PROD] = prod##bits##_##cpu,                              \
        [ML_MIN] = min##bits##_##cpu, [ML_MAX] = max##bits##_##cpu,                                \
    }

const reduce_table reduce_float32 = {
    [CPU_ANY] = KERNELS(any, 32),
    [CPU_AVX2] = KERNELS(avx2, 32),
};
const reduce_table reduce_float64 = {
    [CPU_ANY] = KERNELS(any, 64),
    [CPU_AVX2] = KERNELS(avx2, 64),
};
const reduce_table reduce_complex64 = {
    [CPU_ANY] = {[ML_SUM] = sum_complex_any, [ML_PROD] = prod_complex_any},
    [CPU_AVX2] = {[ML_SUM] = sum_complex_avx2, [ML_PROD] = prod_complex_avx2},
};
