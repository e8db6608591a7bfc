/* SPDX-License-Identifier: MIT */
/*
 * sampler.h: picks the next token. In this order: penalties change the logits of tokens that the
 * answer has already; top_k keeps the best k; top_p keeps the fewest
 * best whose probabilities (exact ones, of all tokens, at temperature 1) add up to p; the
 * temperature then weighs those that are left. What is left is never more than CANDIDATES_MOST.
 */
#ifndef LLM_STEPS_SAMPLER_H
#define LLM_STEPS_SAMPLER_H

#include "candidates.h"

#include <stdbool.h>

struct sampler_settings {
    double temperature;                         /* 0: always the best token */
    double top_p;                               /* 1, or outside of (0, 1): no limit */
    uint32_t top_k;                             /* 0: no limit but CANDIDATES_MOST */
    double frequency_penalty, presence_penalty; /* OpenAI's: for each time, and for having been */
};

/* The state of a random number generator (xoshiro256**); a request has its own. */
struct sampler_random {
    uint64_t state[4];
};

/* The same seed gives the same numbers. */
void sampler_seed(struct sampler_random *r, uint64_t seed);

/* From 0 inclusive to 1 exclusive. */
double sampler_number(struct sampler_random *r);

bool sampler_has_penalties(const struct sampler_settings *s);

/* Changes the candidates by the penalties: counts[token] says how often the answer has it. What is
 * no candidate does not become one. */
void sampler_penalize(const struct sampler_settings *s, const uint32_t *counts,
                      struct candidates *c);

/* The token that was picked of c, which has at least one. With temperature 0, r is not used and may
 * be NULL. */
int32_t sampler_pick(const struct sampler_settings *s, struct sampler_random *r,
                     const struct candidates *c);

#endif
