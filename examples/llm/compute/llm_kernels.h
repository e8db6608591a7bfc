/* SPDX-License-Identifier: MIT */
/*
 * llm_kernels.h: the arithmetic that takes the time, for each kind of CPU. Which one a rank uses
 * may change the last bits of its partial sums, but all ranks add up the same ones.
 *
 * Rows of a quantized type are multiplied with vectors that are quantized too, 32 numbers at a
 * time, so that the products are of 8-bit integers.
 */
#ifndef LLM_COMPUTE_LLM_KERNELS_H
#define LLM_COMPUTE_LLM_KERNELS_H

#include "../model/model_weights.h"

/* Vectors that matrices are multiplied with. */
struct activation {
    const float *x; /* the numbers; vector v begins at x + v * stride */
    size_t stride;
    uint32_t count;
    uint32_t columns; /* each vector's */

    /* Quantized, each vector behind the other: x = scale * q. */
    bool is_quantized;
    int8_t *q;      /* columns */
    float *scale;   /* columns / 32 */
    float *sum;     /* columns / 32: scale times the sum of q */
    int32_t *fours; /* columns / 4: minus 8 times the sum of four q */
};

enum llm_cpu { LLM_CPU_ANY, LLM_CPU_AVX2, LLM_CPU_AVX512, LLM_CPUS };

struct llm_kernels {
    const char *name;

    /* Fills q, scale, sum and fours from x; columns is a multiple of 32. */
    void (*quantize)(struct activation *a);

    /* y[v * stride + r] = row r of m times vector v. m's type is one that llm reads; unless it is a
     * type of floats, a is quantized. */
    void (*multiply)(const struct llm_matrix *m, const struct activation *a, float *y,
                     size_t stride);

    /* out[i] = q * keys[i * size …], of `size` float16 each, times factor. */
    void (*scores)(const float *q, const uint16_t *keys, uint32_t size, uint32_t count,
                   float factor, float *out);

    /* x[i] = e^(x[i] - the greatest x); returns their sum. */
    float (*soften)(float *x, uint32_t count);

    /* z = factor * the sum of weights[i] * values[i * size …]. */
    void (*mix)(const float *weights, const uint16_t *values, uint32_t size, uint32_t count,
                float factor, float *z);

    /* gate = silu(gate) * up, where silu(x) = x / (1 + e^-x). */
    void (*gate)(float *gate, const float *up, uint32_t count);

    /* float32 to float16. */
    void (*narrow)(uint16_t *out, const float *in, uint32_t count);
};

/* NULL: this machine is of another kind. */
const struct llm_kernels *llm_kernels_for(enum llm_cpu cpu);

/* The fastest that this machine can use. */
const struct llm_kernels *llm_kernels_best(void);

/* For llm_kernels.c. */
extern const struct llm_kernels llm_kernels_any;
#if defined(__x86_64__)
extern const struct llm_kernels llm_kernels_avx2, llm_kernels_avx512;
#endif

#endif
