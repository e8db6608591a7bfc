/* SPDX-License-Identifier: MIT */
/* llm_kernels_any.c: the kernels in plain C, for any CPU; the others are tested against them. */
#include "block_values.h"
#include "exponential.h"
#include "llm_kernels.h"

#include <math.h>

enum { CHUNK = 256 };

static void block_quantize(const float *x, int8_t *q, float *scale, float *sum, int32_t *fours)
{
    float most = 0, inverse;
    int32_t total = 0;

    for (int i = 0; i < BLOCK_VALUES; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    inverse = most > 0 ? 127 / most : 0;
    for (int i = 0; i < BLOCK_VALUES; i++) {
        float rounded = x[i] * inverse;

        /* The product may be a little above 127; and no number is no integer either. */
        rounded = rounded > 127 ? 127 : rounded < -127 ? -127 : rounded;
        q[i] = (int8_t)(rounded == rounded ? lrintf(rounded) : 0);
        total += q[i];
    }
    for (int i = 0; i < BLOCK_VALUES / 4; i++)
        fours[i] = -8 * (q[4 * i] + q[4 * i + 1] + q[4 * i + 2] + q[4 * i + 3]);
    *scale = most / 127;
    *sum = *scale * (float)total;
}

static void any_quantize(struct activation *a)
{
    uint32_t blocks = a->columns / BLOCK_VALUES;

    for (size_t v = 0; v < a->count; v++)
        for (size_t b = v * blocks; b < (v + 1) * blocks; b++)
            block_quantize(a->x + v * a->stride + (b - v * blocks) * BLOCK_VALUES,
                           a->q + b * BLOCK_VALUES, &a->scale[b], &a->sum[b], a->fours + b * 8);
}

/* One block of a row times one of a vector. */
static float block_multiply(const struct block_values *w, const int8_t *q, float scale, float sum)
{
    int32_t total[2] = {0, 0};

    for (int i = 0; i < BLOCK_VALUES; i++)
        total[i / 16] += w->q[i] * q[i];
    return scale * (w->scale[0] * (float)total[0] + w->scale[1] * (float)total[1]) -
           w->minimum * sum;
}

static void quantized_multiply(const struct llm_matrix *m, const struct activation *a, float *y,
                               size_t stride)
{
    uint32_t blocks = a->columns / BLOCK_VALUES;
    struct block_values w;

    for (uint32_t r = 0; r < m->rows; r++) {
        for (size_t v = 0; v < a->count; v++)
            y[v * stride + r] = 0;
        for (uint32_t b = 0; b < blocks; b++) {
            block_values_read(m->type, m->data + r * m->stride, b, &w);
            for (size_t v = 0; v < a->count; v++)
                y[v * stride + r] +=
                    block_multiply(&w, a->q + (v * blocks + b) * BLOCK_VALUES,
                                   a->scale[v * blocks + b], a->sum[v * blocks + b]);
        }
    }
}

static void float_multiply(const struct llm_matrix *m, const struct activation *a, float *y,
                           size_t stride)
{
    size_t each = m->type == GGUF_F32 ? 4 : 2;
    float w[CHUNK];

    for (uint32_t r = 0; r < m->rows; r++) {
        for (size_t v = 0; v < a->count; v++)
            y[v * stride + r] = 0;
        for (uint32_t i = 0; i < m->columns; i += CHUNK) {
            uint32_t n = m->columns - i < CHUNK ? m->columns - i : CHUNK;

            block_values_row(m->type, m->data + r * m->stride + i * each, n, w);
            for (size_t v = 0; v < a->count; v++) {
                const float *x = a->x + v * a->stride + i;
                float sum = 0;

                for (uint32_t k = 0; k < n; k++)
                    sum += w[k] * x[k];
                y[v * stride + r] += sum;
            }
        }
    }
}

static void any_multiply(const struct llm_matrix *m, const struct activation *a, float *y,
                         size_t stride)
{
    if (m->type == GGUF_F32 || m->type == GGUF_F16 || m->type == GGUF_BF16)
        float_multiply(m, a, y, stride);
    else
        quantized_multiply(m, a, y, stride);
}

static void any_scores(const float *q, const uint16_t *keys, uint32_t size, uint32_t count,
                       float factor, float *out)
{
    for (size_t i = 0; i < count; i++) {
        float sum = 0;

        for (uint32_t k = 0; k < size; k++)
            sum += q[k] * float_of_half(keys[i * size + k]);
        out[i] = sum * factor;
    }
}

EXPONENTIAL_KERNELS(, any)

static void any_mix(const float *weights, const uint16_t *values, uint32_t size, uint32_t count,
                    float factor, float *z)
{
    memset(z, 0, size * sizeof(*z));
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < size; k++)
            z[k] += weights[i] * float_of_half(values[i * size + k]);
    for (uint32_t k = 0; k < size; k++)
        z[k] *= factor;
}

static void any_narrow(uint16_t *out, const float *in, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = half_of_float(in[i]);
}

const struct llm_kernels llm_kernels_any = {
    .name = "plain C",
    .quantize = any_quantize,
    .multiply = any_multiply,
    .scores = any_scores,
    .soften = any_soften,
    .mix = any_mix,
    .gate = any_gate,
    .narrow = any_narrow,
};
