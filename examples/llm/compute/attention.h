/* SPDX-License-Identifier: MIT */
/*
 * attention.h: the keys and values of the positions so far, of this rank's groups of heads, and
 * what a row takes from them. They are float16: keys[slot][layer][group][position][number].
 */
#ifndef LLM_COMPUTE_ATTENTION_H
#define LLM_COMPUTE_ATTENTION_H

#include "llm_kernels.h"

struct attention_cache {
    uint16_t *keys, *values;
    uint32_t slots, layers, groups, context, head_size;
    uint32_t heads_per_group;
};

/* 0, or -1: there is not enough memory. The system gives the memory only as it is used. */
int attention_open(struct attention_cache *c, const struct model_shape *s, uint32_t groups,
                   uint32_t slots, uint32_t context);
void attention_close(struct attention_cache *c);

/* Keeps the keys and the values (groups * head_size numbers each) of one position. */
void attention_store(struct attention_cache *c, const struct llm_kernels *k, uint32_t layer,
                     uint32_t slot, uint32_t position, const float *keys, const float *values);

/* For each head h: z[h] = the mean of the values of positions 0 … position, weighted by how well
 * their keys fit q[h]. `scores` has room for a number a position. */
void attention_mix(const struct attention_cache *c, const struct llm_kernels *k, uint32_t layer,
                   uint32_t slot, uint32_t position, const float *q, float *scores, float *z);

#endif
