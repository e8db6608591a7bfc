/* SPDX-License-Identifier: MIT */
#include "candidates.h"

#include "../compute/exponential.h"

#include <math.h>

enum { CHUNK = 1024 };

static bool candidate_is_better(const struct token_candidate *a, const struct token_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

/* Puts `new` where it belongs among the best, if it is one of them. */
static void candidates_add(struct candidates *c, struct token_candidate new)
{
    uint32_t i = c->count;

    if (i == CANDIDATES_MOST) {
        if (!candidate_is_better(&new, &c->best[i - 1]))
            return;
        i--;
    } else {
        c->count++;
    }
    for (; i && candidate_is_better(&new, &c->best[i - 1]); i--)
        c->best[i] = c->best[i - 1];
    c->best[i] = new;
}

/* The sum of e^(logit - maximum), in float for the length of a chunk. */
static double logits_total(const float *logits, uint32_t count, float maximum)
{
    double total = 0;

    for (uint32_t i = 0; i < count; i += CHUNK) {
        const float *chunk = logits + i;
        uint32_t n = count - i < CHUNK ? count - i : CHUNK;
        float sum = 0;

#pragma omp simd reduction(+ : sum)
        for (uint32_t k = 0; k < n; k++) {
            float e = exponential(chunk[k] - maximum);

            sum += chunk[k] == chunk[k] ? e : 0;
        }
        total += sum;
    }
    return total;
}

void candidates_find(struct candidates *c, const float *logits, uint32_t count, int32_t first)
{
    float least = -INFINITY; /* from here on, a logit is worth a closer look */

    *c = (struct candidates){.maximum = -INFINITY};
    for (uint32_t i = 0; i < count; i++) {
        float logit = logits[i];

        if (c->count == CANDIDATES_MOST && !(logit > least))
            continue;
        candidates_add(
            c, (struct token_candidate){first + (int32_t)i, logit == logit ? logit : -INFINITY});
        least = c->best[c->count - 1].logit;
    }
    if (!c->count || c->best[0].logit == -INFINITY)
        return;
    c->maximum = c->best[0].logit;
    c->total = logits_total(logits, count, c->maximum);
}

void candidates_merge(struct candidates *out, const struct candidates *parts, uint32_t n)
{
    struct candidates sum = {.maximum = -INFINITY};

    for (uint32_t p = 0; p < n; p++)
        for (uint32_t i = 0; i < parts[p].count && i < CANDIDATES_MOST; i++)
            candidates_add(&sum, parts[p].best[i]);
    if (sum.count)
        sum.maximum = sum.best[0].logit;
    for (uint32_t p = 0; p < n && sum.maximum > -INFINITY; p++)
        sum.total += parts[p].total * exp((double)parts[p].maximum - sum.maximum);
    *out = sum;
}

/* Puts `changed`, which has other best ones, in the place of c; all other tokens remain. */
static void candidates_replace(struct candidates *c, struct candidates *changed)
{
    double others = c->total;

    for (uint32_t i = 0; i < c->count; i++)
        others -= exp((double)c->best[i].logit - c->maximum);
    changed->maximum = changed->best[0].logit;
    changed->total = 0;
    if (others > 0) /* what is below that is rounding */
        changed->total = others * exp((double)c->maximum - changed->maximum);
    for (uint32_t i = 0; i < changed->count; i++)
        changed->total += exp((double)changed->best[i].logit - changed->maximum);
    *c = *changed;
}

void candidates_change(struct candidates *c, const float by[])
{
    struct candidates changed = {.maximum = -INFINITY};

    if (c->maximum == -INFINITY)
        return;
    for (uint32_t i = 0; i < c->count; i++)
        candidates_add(&changed,
                       (struct token_candidate){c->best[i].token, c->best[i].logit + by[i]});
    candidates_replace(c, &changed);
}

void candidates_keep(struct candidates *c, const bool keep[])
{
    struct candidates kept = {.maximum = -INFINITY};

    for (uint32_t i = 0; i < c->count; i++) {
        if (keep[i])
            kept.best[kept.count++] = c->best[i];
    }
    if (kept.count && kept.best[0].logit > -INFINITY)
        candidates_replace(c, &kept);
    else
        *c = kept;
}

double candidates_probability(const struct candidates *c, uint32_t i)
{
    return c->total > 0 ? exp((double)c->best[i].logit - c->maximum) / c->total : 0;
}
