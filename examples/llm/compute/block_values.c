/* SPDX-License-Identifier: MIT */
#include "block_values.h"

#include "half_float.h"

static void q8_0_read(const uint8_t *block, struct block_values *out)
{
    memcpy(out->q, block + 2, BLOCK_VALUES);
    out->scale[0] = out->scale[1] = float_of_half(bits16_at(block));
    out->minimum = 0;
}

static void q4_0_read(const uint8_t *block, struct block_values *out)
{
    for (int j = 0; j < BLOCK_VALUES / 2; j++) {
        out->q[j] = (int8_t)((block[2 + j] & 15) - 8);
        out->q[j + 16] = (int8_t)((block[2 + j] >> 4) - 8);
    }
    out->scale[0] = out->scale[1] = float_of_half(bits16_at(block));
    out->minimum = 0;
}

static void q4_k_read(const uint8_t *block, int part, struct block_values *out)
{
    const uint8_t *values = block + Q4_K_VALUES + part / 2 * 32;
    uint8_t scale, minimum;

    for (int j = 0; j < BLOCK_VALUES; j++)
        out->q[j] = (int8_t)(part % 2 ? values[j] >> 4 : values[j] & 15);
    block_values_scales(block + Q4_K_SCALES, part, &scale, &minimum);
    out->scale[0] = out->scale[1] = float_of_half(bits16_at(block)) * (float)scale;
    out->minimum = float_of_half(bits16_at(block + Q4_K_MINIMUM)) * (float)minimum;
}

static void q6_k_read(const uint8_t *block, int part, struct block_values *out)
{
    int half = part / 4, quarter = part % 4;
    const uint8_t *lower = block + half * 64 + quarter % 2 * 32;
    const uint8_t *upper = block + Q6_K_UPPER + half * 32;
    float d = float_of_half(bits16_at(block + Q6_K_SCALE));

    for (int j = 0; j < BLOCK_VALUES; j++) {
        int low = quarter / 2 ? lower[j] >> 4 : lower[j] & 15;

        out->q[j] = (int8_t)((low | (upper[j] >> 2 * quarter & 3) << 4) - 32);
    }
    for (int k = 0; k < 2; k++)
        out->scale[k] = d * (float)(int8_t)block[Q6_K_SCALES + part * 2 + k];
    out->minimum = 0;
}

void block_values_read(enum gguf_type type, const uint8_t *row, uint32_t n,
                       struct block_values *out)
{
    switch (type) {
    case GGUF_Q8_0:
        q8_0_read(row + (size_t)n * Q8_0_BYTES, out);
        break;
    case GGUF_Q4_0:
        q4_0_read(row + (size_t)n * Q4_0_BYTES, out);
        break;
    case GGUF_Q4_K:
        q4_k_read(row + (size_t)(n / 8) * Q4_K_BYTES, (int)(n % 8), out);
        break;
    case GGUF_Q6_K:
        q6_k_read(row + (size_t)(n / 8) * Q6_K_BYTES, (int)(n % 8), out);
        break;
    default:
        memset(out, 0, sizeof(*out));
    }
}

static void quantized_row(enum gguf_type type, const uint8_t *row, uint32_t count, float *out)
{
    struct block_values b;

    for (uint32_t n = 0; n < count / BLOCK_VALUES; n++) {
        block_values_read(type, row, n, &b);
        for (int j = 0; j < BLOCK_VALUES; j++)
            *out++ = b.scale[j / 16] * (float)b.q[j] - b.minimum;
    }
}

void block_values_row(enum gguf_type type, const uint8_t *row, uint32_t count, float *out)
{
    switch (type) {
    case GGUF_F32:
        memcpy(out, row, count * sizeof(*out));
        break;
    case GGUF_F16:
        for (uint32_t i = 0; i < count; i++)
            out[i] = float_of_half(bits16_at(row + 2 * (size_t)i));
        break;
    case GGUF_BF16:
        for (uint32_t i = 0; i < count; i++)
            out[i] = float_of_bfloat(bits16_at(row + 2 * (size_t)i));
        break;
    default:
        quantized_row(type, row, count, out);
    }
}
