/* SPDX-License-Identifier: MIT */
/* test_block_values.c: blocks of each type against numbers that were put into them one by one, by
 * the formats' description (block_values.h); and float16, all 65,536 of them. */
#include "examples/llm/compute/block_values.h"
#include "examples/llm/compute/half_float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { HALF_ONE = 0x3c00, HALF_TWO = 0x4000, HALF_QUARTER = 0x3400 };

static void half_put(uint8_t *at, uint16_t half)
{
    at[0] = (uint8_t)half;
    at[1] = (uint8_t)(half >> 8);
}

static void floats_are_equal(const float *a, const float *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i])
            fail_msg("number %d is %g, not %g", i, (double)a[i], (double)b[i]);
}

static void q8_0(void **state)
{
    uint8_t block[2 * Q8_0_BYTES];
    float expected[64], out[64];

    (void)state;
    for (int b = 0; b < 2; b++) {
        half_put(block + b * Q8_0_BYTES, b ? HALF_TWO : HALF_QUARTER);
        for (int i = 0; i < 32; i++) {
            int q = i * 8 - 128 + b;

            block[b * Q8_0_BYTES + 2 + i] = (uint8_t)q;
            expected[b * 32 + i] = (float)q * (b ? 2.0f : 0.25f);
        }
    }
    block_values_row(GGUF_Q8_0, block, 64, out);
    floats_are_equal(out, expected, 64);
}

static void q4_0(void **state)
{
    uint8_t block[Q4_0_BYTES] = {0};
    float expected[32], out[32];

    (void)state;
    half_put(block, HALF_QUARTER);
    for (int i = 0; i < 32; i++) {
        int q = (i * 5 + 3) % 16;

        block[2 + i % 16] |= (uint8_t)(i < 16 ? q : q << 4);
        expected[i] = (float)(q - 8) * 0.25f;
    }
    block_values_row(GGUF_Q4_0, block, 32, out);
    floats_are_equal(out, expected, 32);
}

/* Puts number i of a Q4_K block, which is s q / 4 - 2 t, where s and t are of its 32 numbers. */
static void q4_k(void **state)
{
    uint8_t block[Q4_K_BYTES] = {0}, *packed = block + Q4_K_SCALES;
    float expected[256], out[256];

    (void)state;
    half_put(block, HALF_QUARTER);
    half_put(block + Q4_K_MINIMUM, HALF_TWO);
    for (int j = 0; j < 8; j++) {
        int s = (j * 23 + 41) % 64, t = (j * 37 + 22) % 64;

        if (j < 4) {
            packed[j] |= (uint8_t)s;
            packed[j + 4] |= (uint8_t)t;
        } else {
            packed[j + 4] |= (uint8_t)((s & 15) | (t & 15) << 4);
            packed[j - 4] |= (uint8_t)(s >> 4 << 6);
            packed[j] |= (uint8_t)(t >> 4 << 6);
        }
        for (int i = 0; i < 32; i++) {
            int q = (i * 7 + j) % 16;

            block[Q4_K_VALUES + j / 2 * 32 + i] |= (uint8_t)(j % 2 ? q << 4 : q);
            expected[j * 32 + i] = 0.25f * (float)(s * q) - 2 * (float)t;
        }
    }
    block_values_row(GGUF_Q4_K, block, 256, out);
    floats_are_equal(out, expected, 256);
}

static void q6_k(void **state)
{
    uint8_t block[Q6_K_BYTES] = {0};
    float expected[256], out[256];

    (void)state;
    half_put(block + Q6_K_SCALE, HALF_QUARTER);
    for (int k = 0; k < 16; k++)
        block[Q6_K_SCALES + k] = (uint8_t)(k * 16 - 127);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, l = i % 32, q = (i * 11 + i / 64) % 64;
        int lower = half * 64 + quarter % 2 * 32 + l;
        int scale = i / 16 * 16 - 127;

        block[lower] |= (uint8_t)(quarter < 2 ? q & 15 : (q & 15) << 4);
        block[Q6_K_UPPER + half * 32 + l] |= (uint8_t)(q >> 4 << 2 * quarter);
        expected[i] = 0.25f * (float)(scale * (q - 32));
    }
    block_values_row(GGUF_Q6_K, block, 256, out);
    floats_are_equal(out, expected, 256);
}

static void floats(void **state)
{
    static const float numbers[4] = {1, -2, 0.25f, 65504};
    static const uint16_t halves[4] = {HALF_ONE, HALF_TWO | 0x8000, HALF_QUARTER, 0x7bff};
    static const uint16_t bfloats[4] = {0x3f80, 0xc000, 0x3e80, 0x4780};
    float out[4];

    (void)state;
    block_values_row(GGUF_F32, (const uint8_t *)numbers, 4, out);
    floats_are_equal(out, numbers, 4);
    block_values_row(GGUF_F16, (const uint8_t *)halves, 4, out);
    floats_are_equal(out, numbers, 4);
    block_values_row(GGUF_BF16, (const uint8_t *)bfloats, 4, out);
    floats_are_equal(out, numbers, 3);
    assert_true(out[3] == 65536);
}

/* What a float16 means, by its definition. */
static float half_meaning(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    float size =
        exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);

    return h & 0x8000 ? -size : size;
}

static void each_half_is_read_and_written(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = float_of_half((uint16_t)h);

        if ((h & 0x7c00) == 0x7c00) {
            assert_true(h & 1023 ? f != f : f == (h & 0x8000 ? -INFINITY : INFINITY));
        } else {
            assert_true(f == half_meaning((uint16_t)h));
            assert_int_equal(half_of_float(f), h);
        }
    }
}

static void halves_are_rounded_to_even(void **state)
{
    static const struct {
        float f;
        uint16_t half;
    } cases[] = {{1 + 0x1p-11f, 0x3c00},
                 {1 + 0x3p-11f, 0x3c02},
                 {1 + 0x1.8p-11f, 0x3c01},
                 {65519, 0x7bff},
                 {65520, 0x7c00},
                 {-1e30f, 0xfc00},
                 {0x1p-25f, 0},
                 {0x1.8p-24f, 2},
                 {0x1.1p-25f, 1},
                 {0x1p-14f - 0x1p-26f, 0x400},
                 {INFINITY, 0x7c00},
                 {-0.0f, 0x8000}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(half_of_float(cases[i].f), cases[i].half);
    assert_int_equal(half_of_float(NAN) & 0x7fff, 0x7e00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q8_0),
        cmocka_unit_test(q4_0),
        cmocka_unit_test(q4_k),
        cmocka_unit_test(q6_k),
        cmocka_unit_test(floats),
        cmocka_unit_test(each_half_is_read_and_written),
        cmocka_unit_test(halves_are_rounded_to_even),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
