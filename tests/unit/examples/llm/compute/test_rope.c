/* SPDX-License-Identifier: MIT */
/* test_rope.c: which numbers are a pair, and by which angle each is turned. */
#include "examples/llm/compute/rope.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SIZE = 8, PAIRS = SIZE / 2, HEADS = 2 };

static void turn_check(bool is_split, float factor, const float *divisor, int32_t position)
{
    struct model_shape s = {
        .head_size = SIZE, .rope_base = 10000, .rope_factor = factor, .is_rope_split = is_split};
    float x[HEADS * SIZE], cosines[PAIRS], sines[PAIRS];
    struct rope r;

    for (int i = 0; i < HEADS * SIZE; i++)
        x[i] = (float)(i + 1);
    assert_int_equal(rope_open(&r, &s, divisor), 0);
    rope_angles(&r, position, cosines, sines);
    rope_turn(&r, cosines, sines, x, HEADS);
    for (int h = 0; h < HEADS; h++) {
        for (int i = 0; i < PAIRS; i++) {
            double angle =
                position / (double)factor / pow(10000, 2.0 * i / SIZE) / (divisor ? divisor[i] : 1);
            int a = h * SIZE + (is_split ? i : 2 * i), b = a + (is_split ? PAIRS : 1);

            assert_true(fabs(x[a] - ((a + 1) * cos(angle) - (b + 1) * sin(angle))) < 1e-4);
            assert_true(fabs(x[b] - ((a + 1) * sin(angle) + (b + 1) * cos(angle))) < 1e-4);
        }
    }
    rope_close(&r);
}

static void pairs_are_turned(void **state)
{
    static const float divisor[PAIRS] = {1, 2, 8, 3};

    (void)state;
    for (int32_t position = 0; position < 5000; position += 999) {
        turn_check(false, 1, NULL, position);
        turn_check(true, 1, NULL, position);
        turn_check(false, 4, NULL, position);
        turn_check(false, 1, divisor, position);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_turned)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
