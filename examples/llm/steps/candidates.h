/* SPDX-License-Identifier: MIT */
/*
 * candidates.h: the tokens that may come next: the best of a row of logits, and what their exact
 * probabilities among all tokens need. Each rank finds those of its part of the vocabulary; rank 0
 * merges them. So no logits travel, and the struct is what ranks send each other.
 */
#ifndef LLM_STEPS_CANDIDATES_H
#define LLM_STEPS_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

enum { CANDIDATES_MOST = 64 };

struct token_candidate {
    int32_t token;
    float logit;
};

struct candidates {
    uint32_t count; /* length of best; 0 only for an empty part */
    float maximum;  /* best[0].logit; of an empty part, minus infinity */
    double total;   /* the sum over all tokens of e^(logit - maximum) */
    struct token_candidate best[CANDIDATES_MOST]; /* best first; of equal ones, the lower token */
};

/* The candidates of logits[0 … count - 1], which belong to the tokens from `first` on. A logit that
 * is not a number is as good as minus infinity. */
void candidates_find(struct candidates *c, const float *logits, uint32_t count, int32_t first);

/* Merges parts[0 … n - 1], which have no token in common. *out may be one of them. */
void candidates_merge(struct candidates *out, const struct candidates *parts, uint32_t n);

/* Adds by[i] to the logit of best[i], and puts them in order again. All other tokens keep theirs,
 * and their part of the total. */
void candidates_change(struct candidates *c, const float by[]);

/* Leaves out each best[i] without keep[i], and its part of the total. Perhaps none is left: then
 * count is 0. */
void candidates_keep(struct candidates *c, const bool keep[]);

/* The probability of best[i] among all tokens, at temperature 1. */
double candidates_probability(const struct candidates *c, uint32_t i);

#endif
