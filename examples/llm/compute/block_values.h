/* SPDX-License-Identifier: MIT */
/*
 * block_values.h: what the blocks of a quantized row stand for (ggml's formats). Whatever a type's
 * block is, 32 numbers are taken at a time: number i is scale[i / 16] * q[i] - minimum.
 *
 *     Q8_0   32 numbers:  f16 d | 32 x i8                             x = d q
 *     Q4_0   32 numbers:  f16 d | 16 bytes                            x = d (q - 8)
 *              the low half of byte j is number j, the high half number j + 16
 *     Q4_K  256 numbers:  f16 d | f16 m | 12 bytes | 128 bytes        x = d s q - m t
 *              the 12 bytes are s and t, of 6 bits, of each 32 numbers (block_values_scales);
 *              of each 32 bytes behind them, the low halves are 32 numbers, the high halves the
 *              next
 *     Q6_K  256 numbers:  128 bytes | 64 bytes | 16 x i8 | f16 d      x = d s (q - 32)
 *              the bytes are the lower 4 and the upper 2 bits of q, an i8 is s of 16 numbers
 */
#ifndef LLM_COMPUTE_BLOCK_VALUES_H
#define LLM_COMPUTE_BLOCK_VALUES_H

#include "../model/gguf_type.h"

enum { BLOCK_VALUES = 32, BLOCK_SUPER = 256 };

struct block_values {
    int8_t q[BLOCK_VALUES];
    float scale[2];
    float minimum;
};

/* Numbers 32 n … 32 n + 31 of a row of a quantized type. */
void block_values_read(enum gguf_type type, const uint8_t *row, uint32_t n,
                       struct block_values *out);

/* Numbers 0 … count - 1 of a row of any type; whole blocks. */
void block_values_row(enum gguf_type type, const uint8_t *row, uint32_t count, float *out);

/* s and t of part n, 0 to 7, of a Q4_K block's 12 bytes. */
static inline void block_values_scales(const uint8_t *packed, int n, uint8_t *s, uint8_t *t)
{
    if (n < 4) {
        *s = packed[n] & 63;
        *t = packed[n + 4] & 63;
    } else {
        *s = (uint8_t)((packed[n + 4] & 15) | packed[n - 4] >> 6 << 4);
        *t = (uint8_t)(packed[n + 4] >> 4 | packed[n] >> 6 << 4);
    }
}

/* Where the parts of blocks begin. */
enum {
    Q8_0_BYTES = 34,
    Q4_0_BYTES = 18,
    Q4_K_BYTES = 144,
    Q4_K_MINIMUM = 2,
    Q4_K_SCALES = 4,
    Q4_K_VALUES = 16,
    Q6_K_BYTES = 210,
    Q6_K_UPPER = 128,
    Q6_K_SCALES = 192,
    Q6_K_SCALE = 208
};

#endif
