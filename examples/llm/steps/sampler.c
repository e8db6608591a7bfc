/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <math.h>

/* Blackman and Vigna's xoshiro256**, seeded by splitmix64, as they advise. */
void sampler_seed(struct sampler_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        r->state[i] = z ^ z >> 31;
    }
}

static uint64_t rotated(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

double sampler_number(struct sampler_random *r)
{
    uint64_t *s = r->state, result = rotated(s[1] * 5, 7) * 9, shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotated(s[3], 45);
    return (double)(result >> 11) * 0x1p-53;
}

bool sampler_has_penalties(const struct sampler_settings *s)
{
    return s->frequency_penalty != 0 || s->presence_penalty != 0;
}

void sampler_penalize(const struct sampler_settings *s, const uint32_t *counts,
                      struct candidates *c)
{
    float by[CANDIDATES_MOST];

    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t times = counts[c->best[i].token];

        by[i] = times ? (float)(-s->presence_penalty - s->frequency_penalty * times) : 0;
    }
    candidates_change(c, by);
}

/* How many of the best are left by top_k and top_p: at least one. */
static uint32_t sampler_cut(const struct sampler_settings *s, const struct candidates *c)
{
    uint32_t most = s->top_k && s->top_k < c->count ? s->top_k : c->count, n = 0;
    double sum = 0;

    if (!(s->top_p > 0 && s->top_p < 1))
        return most;
    while (n < most && (n == 0 || sum < s->top_p))
        sum += candidates_probability(c, n++);
    return n;
}

int32_t sampler_pick(const struct sampler_settings *s, struct sampler_random *r,
                     const struct candidates *c)
{
    double weights[CANDIDATES_MOST], sum = 0, point;
    uint32_t n, i;

    if (!(s->temperature > 0) || c->maximum == -INFINITY)
        return c->best[0].token;
    n = sampler_cut(s, c);
    for (i = 0; i < n; i++) {
        weights[i] = exp(((double)c->best[i].logit - c->maximum) / s->temperature);
        sum += weights[i];
    }
    point = sampler_number(r) * sum;
    for (i = 0; i + 1 < n && point >= weights[i]; i++)
        point -= weights[i];
    return c->best[i].token;
}
