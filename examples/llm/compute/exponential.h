/* SPDX-License-Identifier: MIT */
/* exponential.h: e^x in a form that compilers can compute for a whole vector at once, and the
 * kernels that are made of it. */
#ifndef LLM_COMPUTE_EXPONENTIAL_H
#define LLM_COMPUTE_EXPONENTIAL_H

#include "half_float.h"

#include <math.h>

/* e^x for x from -87 to 88, else the value at the nearer end; the relative error is below 2e-7.
 * x = n ln 2 + r, so e^x = 2^n e^r, and |r| <= ln 2 / 2, where a polynomial of Taylor's does. The
 * addition of 1.5 * 2^23 rounds to an integer, which is then in the lower bits. */
static inline __attribute__((always_inline)) float exponential(float x)
{
    float n, r, p, shifted;

    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    shifted = x * 1.44269504f + 12582912.0f;
    n = shifted - 12582912.0f;
    r = x - n * 0.693359375f + n * 2.12194440e-4f;
    p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1;
    p = p * r + 1;
    return p * float_of_bits32((bits32_of_float(shifted) + 127) << 23);
}

/* Defines the kernels soften and gate (llm_kernels.h) for a CPU. */
#define EXPONENTIAL_KERNELS(target, cpu)                                                           \
    target static float cpu##_soften(float *x, uint32_t count)                                     \
    {                                                                                              \
        float most = -INFINITY, sum = 0;                                                           \
                                                                                                   \
        _Pragma("omp simd reduction(max : most)") for (uint32_t i = 0; i < count; i++) most =      \
            x[i] > most ? x[i] : most;                                                             \
        _Pragma("omp simd reduction(+ : sum)") for (uint32_t i = 0; i < count; i++)                \
        {                                                                                          \
            x[i] = exponential(x[i] - most);                                                       \
            sum += x[i];                                                                           \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    target static void cpu##_gate(float *gate, const float *up, uint32_t count)                    \
    {                                                                                              \
        _Pragma("omp simd") for (uint32_t i = 0; i < count; i++) gate[i] =                         \
            gate[i] / (1 + exponential(-gate[i])) * up[i];                                         \
    }

#endif
