/* SPDX-License-Identifier: MIT */
/* reduce_op_float.c: float32, float64, complex64. */
#include "runtime/kernel/reduce_vectors.h"

#if defined(__x86_64__)
#define KERNELS_OF(op, bits, combine)                                                              \
    REDUCE_LOOP_FOR(, op##bits##_any, any_f##bits, combine)                                        \
    VECTOR_LOOPS(op##bits, (bits) / 8, (bits) / 8, f##bits, op##_f##bits)
#else
#define KERNELS_OF(op, bits, combine) REDUCE_LOOP_FOR(, op##bits##_any, any_f##bits, combine)
#endif

KERNELS_OF(sum, 32, float_sum)
KERNELS_OF(prod, 32, float_prod)
KERNELS_OF(min, 32, float_min)
KERNELS_OF(max, 32, float_max)

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

/* nan_first for float64. */
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

KERNELS_OF(sum, 64, double_sum)
KERNELS_OF(prod, 64, double_prod)
KERNELS_OF(min, 64, double_min)
KERNELS_OF(max, 64, double_max)

/* Two float32: the real part and the imaginary one. */
#define COMPLEX_SUM(cpu)                                                                           \
    static void sum_complex_##cpu(void *out, const void *a, const void *b, size_t count)           \
    {                                                                                              \
        sum32_##cpu(out, a, b, 2 * count);                                                         \
    }

/* The plain product. C's annex G would repair infinities, which other implementations don't. */
static void prod_complex_any(void *out, const void *a, const void *b, size_t count)
{
    any_f32 *o = out;
    const any_f32 *x = a, *y = b;

    _Pragma("omp simd") for (size_t i = 0; i < count; i++)
    {
        float re = x[2 * i], im = x[2 * i + 1], re2 = y[2 * i], im2 = y[2 * i + 1];

        o[2 * i] = float_difference(float_prod(re, re2), float_prod(im, im2));
        o[2 * i + 1] = float_sum(float_prod(re, im2), float_prod(im, re2));
    }
}

COMPLEX_SUM(any)
#if defined(__x86_64__)
COMPLEX_SUM(avx2)
COMPLEX_SUM(avx512)
VECTOR_LOOPS(prod_complex, 8, 8, f32, prod_c64)
#endif

#define KERNELS(bits, cpu)                                                                         \
    {                                                                                              \
        [ML_SUM] = sum##bits##_##cpu, [ML_PROD] = prod##bits##_##cpu,                              \
        [ML_MIN] = min##bits##_##cpu, [ML_MAX] = max##bits##_##cpu,                                \
    }
const reduce_table reduce_float32 = REDUCE_TABLE(32);
const reduce_table reduce_float64 = REDUCE_TABLE(64);

#undef KERNELS
#define KERNELS(type, cpu)                                                                         \
    {                                                                                              \
        [ML_SUM] = sum_##type##_##cpu, [ML_PROD] = prod_##type##_##cpu,                            \
    }
const reduce_table reduce_complex64 = REDUCE_TABLE(complex);
