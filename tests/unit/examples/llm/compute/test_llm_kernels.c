/* SPDX-License-Identifier: MIT */
/* test_llm_kernels.c: the kernels of each CPU that this machine has, against double arithmetic on
 * the numbers that the blocks stand for. */
#include "examples/llm/compute/activation_buffer.h"
#include "examples/llm/compute/block_values.h"
#include "examples/llm/compute/half_float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ROWS = 11, MOST_VECTORS = 9, MOST_COLUMNS = 768 };

static uint32_t random_state = 1;

static uint32_t random_bits(void)
{
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 8;
}

/* From -1 to 1. */
static float random_float(void)
{
    return (float)random_bits() / 8388608.0f - 1;
}

/* Fills a row with any bits, but scales, and floats, with numbers of a reasonable size. */
static void row_fill(enum gguf_type type, uint8_t *row, uint32_t columns)
{
    struct gguf_block block;
    static const size_t halves[][2] = {[GGUF_Q8_0] = {0, 0},
                                       [GGUF_Q4_0] = {0, 0},
                                       [GGUF_Q4_K] = {0, Q4_K_MINIMUM},
                                       [GGUF_Q6_K] = {Q6_K_SCALE, Q6_K_SCALE}};

    gguf_type_block(type, &block);
    for (uint32_t i = 0; i < columns; i += block.values, row += block.bytes) {
        uint16_t half = half_of_float(random_float());
        float f = random_float();

        for (uint32_t k = 0; k < block.bytes; k++)
            row[k] = (uint8_t)random_bits();
        if (type == GGUF_F32)
            memcpy(row, &f, sizeof(f));
        else if (type == GGUF_F16)
            memcpy(row, &half, sizeof(half));
        else if (type == GGUF_BF16)
            memcpy(row, (const uint8_t *)&f + 2, 2);
        else
            for (int k = 0; k < 2; k++)
                memcpy(row + halves[type][k], &half, sizeof(half));
    }
}

/* One matrix times `vectors` vectors by kernels k; what x is after quantizing is what counts. */
static void matrix_check(const struct llm_kernels *k, enum gguf_type type, uint32_t rows,
                         uint32_t vectors, uint32_t columns)
{
    struct gguf_block block;
    struct activation a;
    struct llm_matrix m = {.rows = rows, .columns = columns, .type = type};
    static float x[MOST_VECTORS * MOST_COLUMNS], y[MOST_VECTORS * MOST_ROWS];
    float w[MOST_COLUMNS];
    uint8_t *data;
    bool is_plain;

    gguf_type_block(type, &block);
    is_plain = block.values == 1;
    m.stride = columns / block.values * (size_t)block.bytes;
    data = malloc(m.stride * rows); /* exactly: what is read beyond it would be found */
    for (uint32_t r = 0; r < rows; r++)
        row_fill(type, data + r * m.stride, columns);
    m.data = data;
    for (uint32_t i = 0; i < vectors * columns; i++)
        x[i] = random_float();
    assert_int_equal(activation_buffer_open(&a, MOST_VECTORS, MOST_COLUMNS), 0);
    activation_buffer_set(&a, x, vectors, columns);
    activation_buffer_multiply(&a, k, &m, y, rows);
    for (uint32_t r = 0; r < rows; r++) {
        block_values_row(type, m.data + r * m.stride, columns, w);
        for (uint32_t v = 0; v < vectors; v++) {
            double sum = 0, size = 0;

            for (uint32_t i = 0; i < columns; i++) {
                size_t at = (size_t)v * columns + i;
                double number = is_plain ? x[at] : (double)a.scale[at / 32] * a.q[at];

                if (!is_plain && fabs(number - x[at]) > a.scale[at / 32] * 0.5001)
                    fail_msg("%s: %g was quantized to %g", k->name, (double)x[at], number);
                sum += w[i] * number;
                size += fabs(w[i] * number);
            }
            if (fabs(y[v * rows + r] - sum) > 2e-6 * size + 1e-30)
                fail_msg("%s: %s, row %u of %u, vector %u of %u, %u columns: %g, not %g", k->name,
                         gguf_type_name(type), r, rows, v, vectors, columns,
                         (double)y[v * rows + r], sum);
        }
    }
    activation_buffer_close(&a);
    free(data);
}

static void each_kernel(void (*check)(const struct llm_kernels *k))
{
    for (int cpu = 0; cpu < LLM_CPUS; cpu++)
        if (llm_kernels_for(cpu))
            check(llm_kernels_for(cpu));
}

static void matrices_check(const struct llm_kernels *k)
{
    static const enum gguf_type types[] = {GGUF_F32,  GGUF_F16,  GGUF_BF16, GGUF_Q8_0,
                                           GGUF_Q4_0, GGUF_Q4_K, GGUF_Q6_K};

    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        struct gguf_block block;

        gguf_type_block(types[t], &block);
        for (uint32_t rows = 1; rows <= MOST_ROWS; rows++)
            for (uint32_t vectors = 1; vectors <= MOST_VECTORS; vectors++)
                matrix_check(k, types[t], rows, vectors, block.values);
        for (uint32_t columns = block.values; columns <= MOST_COLUMNS;
             columns += block.values == 1 ? 37 : block.values)
            matrix_check(k, types[t], 5, 5, columns);
    }
}

static void matrices(void **state)
{
    (void)state;
    each_kernel(matrices_check);
}

/* What no float can be quantized well: it must neither be undefined nor touch other blocks. */
static void odd_vectors_check(const struct llm_kernels *k)
{
    static const float odd[] = {0, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct activation a;
        float x[64];

        for (int j = 0; j < 64; j++)
            x[j] = j < 32 ? odd[i] : 1;
        assert_int_equal(activation_buffer_open(&a, 1, 64), 0);
        activation_buffer_set(&a, x, 1, 64);
        k->quantize(&a);
        for (int j = 32; j < 64; j++)
            assert_int_equal(a.q[j], 127);
        assert_true(fabsf(a.scale[1] * 127 - 1) < 1e-6f);
        assert_true(fabsf(a.sum[1] - 32) < 1e-4f);
        activation_buffer_close(&a);
    }
}

static void odd_vectors(void **state)
{
    (void)state;
    each_kernel(odd_vectors_check);
}

static void attention_check(const struct llm_kernels *k)
{
    for (uint32_t size = 2; size <= 150; size += 1 + size / 3) {
        enum { COUNT = 7 };
        uint16_t *keys = malloc(COUNT * size * sizeof(*keys));
        float q[150], weights[COUNT], scores[COUNT], z[150];

        for (uint32_t i = 0; i < COUNT * size; i++)
            keys[i] = half_of_float(random_float());
        for (uint32_t i = 0; i < size; i++)
            q[i] = random_float();
        for (uint32_t i = 0; i < COUNT; i++)
            weights[i] = random_float();
        k->scores(q, keys, size, COUNT, 0.5f, scores);
        k->mix(weights, keys, size, COUNT, 3, z);
        for (uint32_t i = 0; i < COUNT; i++) {
            double sum = 0;

            for (uint32_t j = 0; j < size; j++)
                sum += 0.5 * q[j] * float_of_half(keys[i * size + j]);
            assert_true(fabs(scores[i] - sum) < 1e-5);
        }
        for (uint32_t j = 0; j < size; j++) {
            double sum = 0;

            for (uint32_t i = 0; i < COUNT; i++)
                sum += 3.0 * weights[i] * float_of_half(keys[i * size + j]);
            assert_true(fabs(z[j] - sum) < 1e-5);
        }
        free(keys);
    }
}

static void attention(void **state)
{
    (void)state;
    each_kernel(attention_check);
}

static void vectors_check(const struct llm_kernels *k)
{
    for (uint32_t count = 1; count < 70; count++) {
        float x[70], gate[70], up[70], sum;
        uint16_t narrow[70];
        double total = 0;

        for (uint32_t i = 0; i < count; i++) {
            x[i] = gate[i] = 30 * random_float();
            up[i] = random_float();
        }
        k->narrow(narrow, x, count);
        k->gate(gate, up, count);
        for (uint32_t i = 0; i < count; i++) {
            double expected = x[i] / (1 + exp(-(double)x[i])) * up[i];

            assert_true(fabs(gate[i] - expected) <= 1e-6 * fabs(expected) + 1e-12);
            assert_int_equal(narrow[i], half_of_float(x[i]));
        }
        x[count / 2] = 40;
        for (uint32_t i = 0; i < count; i++)
            total += exp((double)x[i] - 40);
        gate[0] = x[0];
        sum = k->soften(x, count);
        assert_true(fabs(sum - total) < 1e-5 * total);
        assert_true(x[count / 2] == 1);
    }
}

static void vectors(void **state)
{
    (void)state;
    each_kernel(vectors_check);
}

static void one_is_chosen(void **state)
{
    (void)state;
    assert_non_null(llm_kernels_best());
    assert_ptr_equal(llm_kernels_for(LLM_CPU_ANY), &llm_kernels_any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices), cmocka_unit_test(odd_vectors),   cmocka_unit_test(attention),
        cmocka_unit_test(vectors),  cmocka_unit_test(one_is_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
