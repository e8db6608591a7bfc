/* SPDX-License-Identifier: MIT */
/* test_sampler.c: which tokens can be picked, how often each is, and that a seed repeats. */
#include "examples/llm/steps/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TOKENS = 5, PICKS = 200000 };

/* Probabilities 0.4, 0.3, 0.15, 0.1, 0.05 of tokens 10 … 14. */
static const double probability[TOKENS] = {0.4, 0.3, 0.15, 0.1, 0.05};

static void candidates_make(struct candidates *c)
{
    float logits[TOKENS];

    for (int i = 0; i < TOKENS; i++)
        logits[i] = (float)log(probability[i]);
    candidates_find(c, logits, TOKENS, 10);
}

/* Picks often, and compares how often each token came with `expected`. */
static void picks_check(struct sampler_settings s, const double expected[TOKENS])
{
    struct sampler_random r;
    struct candidates c;
    int count[TOKENS] = {0};

    candidates_make(&c);
    sampler_seed(&r, 42);
    for (int i = 0; i < PICKS; i++)
        count[sampler_pick(&s, &r, &c) - 10]++;
    for (int i = 0; i < TOKENS; i++) {
        if (expected[i] == 0)
            assert_int_equal(count[i], 0);
        /* Six standard deviations. */
        assert_true(fabs(count[i] - PICKS * expected[i]) <= 6 * sqrt(PICKS * expected[i]));
    }
}

static void tokens_come_as_often_as_they_should(void **state)
{
    const double squares = 0.16 + 0.09 + 0.0225 + 0.01 + 0.0025;

    (void)state;
    picks_check((struct sampler_settings){.temperature = 1}, probability);
    picks_check((struct sampler_settings){.temperature = 1, .top_p = 1}, probability);
    picks_check((struct sampler_settings){.temperature = 0.5},
                (double[]){0.16 / squares, 0.09 / squares, 0.0225 / squares, 0.01 / squares,
                           0.0025 / squares});
    picks_check((struct sampler_settings){.temperature = 1, .top_k = 2},
                (double[]){4.0 / 7, 3.0 / 7, 0, 0, 0});
    picks_check((struct sampler_settings){.temperature = 1, .top_p = 0.8},
                (double[]){8.0 / 17, 6.0 / 17, 3.0 / 17, 0, 0});
    picks_check((struct sampler_settings){.temperature = 1, .top_p = 0.01},
                (double[]){1, 0, 0, 0, 0});
}

static void without_temperature_the_best_is_picked(void **state)
{
    struct sampler_settings s = {.temperature = 0};
    struct candidates c;

    (void)state;
    candidates_make(&c);
    assert_int_equal(sampler_pick(&s, NULL, &c), 10);
}

static void a_seed_repeats(void **state)
{
    struct sampler_settings s = {.temperature = 1};
    struct sampler_random a, b, other;
    struct candidates c;
    int differ = 0;

    (void)state;
    candidates_make(&c);
    sampler_seed(&a, 7);
    sampler_seed(&b, 7);
    sampler_seed(&other, 8);
    for (int i = 0; i < 1000; i++) {
        int32_t token = sampler_pick(&s, &a, &c);

        assert_int_equal(sampler_pick(&s, &b, &c), token);
        differ += sampler_pick(&s, &other, &c) != token;
    }
    assert_true(differ > 100);
}

/* The generator's own first numbers from this state, by its authors' code. */
static void the_generator_is_the_known_one(void **state)
{
    struct sampler_random r = {.state = {1, 2, 3, 4}};

    (void)state;
    assert_true(sampler_number(&r) == (double)(11520ull >> 11) * 0x1p-53);
    assert_true(sampler_number(&r) == 0);
    assert_true(sampler_number(&r) == (double)(1509978240ull >> 11) * 0x1p-53);
    assert_true(sampler_number(&r) == (double)(1215971899390074240ull >> 11) * 0x1p-53);
}

/* Probabilities as OpenAI's formula has them: logits less count * frequency + presence. */
static void penalties_change_the_probabilities(void **state)
{
    const uint32_t counts[TOKENS + 10] = {[10] = 3, [12] = 1};
    const double less[TOKENS] = {3 * 0.5 + 0.25, 0, 0.5 + 0.25, 0, 0};
    struct sampler_settings s = {
        .temperature = 1, .frequency_penalty = 0.5, .presence_penalty = 0.25};
    double sum = 0;
    struct candidates c;

    (void)state;
    candidates_make(&c);
    sampler_penalize(&s, counts, &c);
    for (int i = 0; i < TOKENS; i++)
        sum += probability[i] * exp(-less[i]);
    assert_int_equal(c.best[0].token, 11);
    for (uint32_t i = 0; i < c.count; i++) {
        int token = c.best[i].token - 10;
        double is = candidates_probability(&c, i), should = probability[token] * exp(-less[token]);

        assert_true(fabs(is - should / sum) < 1e-6);
        assert_true(i == 0 || c.best[i].logit <= c.best[i - 1].logit);
    }
    s.frequency_penalty = -2; /* the other way, and beyond what exp() can say */
    candidates_make(&c);
    sampler_penalize(&s, (const uint32_t[TOKENS + 10]){[14] = 100000}, &c);
    assert_int_equal(c.best[0].token, 14);
    assert_true(fabs(candidates_probability(&c, 0) - 1) < 1e-6);
    s.frequency_penalty = 2;
    candidates_make(&c);
    c.total *= 2; /* tokens that are no candidates have the other half */
    sampler_penalize(&s, (const uint32_t[TOKENS + 10]){[10] = 1000, [11] = 1000, 1000, 1000, 1000},
                     &c);
    assert_true(candidates_probability(&c, 0) < 1e-6);
    assert_false(sampler_has_penalties(&(struct sampler_settings){.temperature = 1}));
    assert_true(sampler_has_penalties(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_as_often_as_they_should),
        cmocka_unit_test(without_temperature_the_best_is_picked),
        cmocka_unit_test(a_seed_repeats),
        cmocka_unit_test(the_generator_is_the_known_one),
        cmocka_unit_test(penalties_change_the_probabilities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
