/* SPDX-License-Identifier: MIT */
/* half_float.h: float16 and bfloat16 to and from float32, without any instruction for them. */
#ifndef LLM_COMPUTE_HALF_FLOAT_H
#define LLM_COMPUTE_HALF_FLOAT_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits32(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t bits32_of_float(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* Two bytes at any address. */
static inline uint16_t bits16_at(const void *at)
{
    uint16_t bits;

    memcpy(&bits, at, sizeof(bits));
    return bits;
}

/* The exponent is moved to its place and corrected by a multiplication, which makes denormals
 * normal; infinities and NaNs are the exception. */
static inline float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;

    if (rest >= 0x7c00u << 13)
        return float_of_bits32(sign | 0x7f800000 | rest);
    return float_of_bits32(sign | bits32_of_float(float_of_bits32(rest) * 0x1p112f));
}

/* Rounds to nearest, ties to even. */
static inline uint16_t half_of_float(float f)
{
    uint32_t bits = bits32_of_float(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;

    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) /* 65520 and more */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) /* below the least normal one: the addition rounds at its last bit */
        return (uint16_t)(sign | (bits32_of_float(float_of_bits32(rest) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}

static inline float float_of_bfloat(uint16_t bits)
{
    return float_of_bits32((uint32_t)bits << 16);
}

#endif
