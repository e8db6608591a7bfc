/* SPDX-License-Identifier: MIT */
/* test_candidates.c: the best of a row of logits, whatever parts it is divided into. */
#include "examples/llm/steps/candidates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TOKENS = 3000 };

static float logits[TOKENS];

/* Each value of a permutation of 0 … TOKENS - 1, twice as often for every other token. */
static void logits_fill(void)
{
    for (int i = 0; i < TOKENS; i++) {
        int value = (i * 1009 + 17) % TOKENS / 2;

        logits[i] = (float)value / 100;
    }
}

static void parts_make_the_whole(void **state)
{
    struct candidates whole;

    (void)state;
    logits_fill();
    candidates_find(&whole, logits, TOKENS, 0);
    assert_int_equal(whole.count, CANDIDATES_MOST);
    for (uint32_t parts = 1; parts <= 7; parts++) {
        struct candidates part[7], merged;

        for (uint32_t p = 0; p < parts; p++) {
            uint32_t first = TOKENS * p / parts, end = TOKENS * (p + 1) / parts;

            candidates_find(&part[p], logits + first, end - first, (int32_t)first);
        }
        candidates_merge(&merged, part, parts);
        assert_int_equal(merged.count, whole.count);
        assert_true(merged.maximum == whole.maximum);
        assert_true(fabs(merged.total - whole.total) < 1e-5 * whole.total);
        for (uint32_t i = 0; i < whole.count; i++)
            assert_int_equal(merged.best[i].token, whole.best[i].token);
    }
}

static void best_come_first_and_equal_ones_in_order(void **state)
{
    struct candidates c;
    double sum = 0;

    (void)state;
    logits_fill();
    candidates_find(&c, logits, TOKENS, 100);
    for (uint32_t i = 0; i < c.count; i++) {
        const struct token_candidate *b = &c.best[i];

        assert_true(b->logit == logits[b->token - 100]);
        if (i)
            assert_true(b[-1].logit > b->logit ||
                        (b[-1].logit == b->logit && b[-1].token < b->token));
    }
    for (int i = 0; i < TOKENS; i++)
        sum += exp((double)logits[i] - logits[c.best[0].token - 100]);
    assert_true(fabs(c.total - sum) < 1e-5 * sum);
    assert_true(fabs(candidates_probability(&c, 0) - 1 / sum) < 1e-5 / sum);
}

static void few_logits(void **state)
{
    static const float three[] = {1, 3, 2};
    struct candidates c, parts[2];

    (void)state;
    candidates_find(&c, three, 3, 10);
    assert_int_equal(c.count, 3);
    assert_int_equal(c.best[0].token, 11);
    assert_int_equal(c.best[2].token, 10);
    candidates_find(&parts[0], three, 0, 0);
    assert_int_equal(parts[0].count, 0);
    parts[1] = c;
    candidates_merge(&parts[0], parts, 2);
    assert_int_equal(parts[0].count, 3);
    assert_true(parts[0].total == c.total);
}

static void what_is_no_number_comes_last(void **state)
{
    float odd[] = {NAN, 1, INFINITY, -INFINITY, NAN};
    struct candidates c;

    (void)state;
    candidates_find(&c, odd, 2, 0);
    assert_int_equal(c.best[0].token, 1);
    assert_true(candidates_probability(&c, 0) == 1);
    candidates_find(&c, odd, 5, 0);
    assert_int_equal(c.count, 5);
    assert_int_equal(c.best[0].token, 2);
    odd[1] = odd[2] = NAN;
    candidates_find(&c, odd, 5, 0);
    assert_int_equal(c.best[0].token, 0);
    assert_true(candidates_probability(&c, 0) == 0);
}

static void what_is_not_kept_has_no_probability(void **state)
{
    static const float four[] = {1, 4, 3, 2};
    const bool keep[] = {false, true, false, true}, none[4] = {false};
    double total = 1 + exp(-2);
    struct candidates c;

    (void)state;
    candidates_find(&c, four, 4, 0); /* the tokens 1, 2, 3 and 0 */
    candidates_keep(&c, keep);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.best[0].token, 2);
    assert_int_equal(c.best[1].token, 0);
    assert_true(c.maximum == 3 && fabs(c.total - total) < 1e-5);
    assert_true(fabs(candidates_probability(&c, 1) - exp(-2) / total) < 1e-5);
    candidates_keep(&c, none);
    assert_int_equal(c.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(best_come_first_and_equal_ones_in_order),
        cmocka_unit_test(few_logits),
        cmocka_unit_test(what_is_no_number_comes_last),
        cmocka_unit_test(what_is_not_kept_has_no_probability),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
