/* SPDX-License-Identifier: MIT */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

int attention_open(struct attention_cache *c, const struct model_shape *s, uint32_t groups,
                   uint32_t slots, uint32_t context)
{
    size_t count = (size_t)s->layers * groups * s->head_size;

    *c = (struct attention_cache){.slots = slots,
                                  .layers = s->layers,
                                  .groups = groups,
                                  .context = context,
                                  .head_size = s->head_size,
                                  .heads_per_group = s->heads / s->groups};
    if (__builtin_mul_overflow(count, slots, &count) ||
        __builtin_mul_overflow(count, context, &count))
        return -1;
    c->keys = calloc(count, sizeof(*c->keys));
    c->values = calloc(count, sizeof(*c->values));
    if (c->keys && c->values)
        return 0;
    attention_close(c);
    return -1;
}

void attention_close(struct attention_cache *c)
{
    free(c->keys);
    free(c->values);
    c->keys = c->values = NULL;
}

static size_t attention_at(const struct attention_cache *c, uint32_t slot, uint32_t layer,
                           uint32_t group, uint32_t position)
{
    return ((((size_t)slot * c->layers + layer) * c->groups + group) * c->context + position) *
           c->head_size;
}

void attention_store(struct attention_cache *c, const struct llm_kernels *k, uint32_t layer,
                     uint32_t slot, uint32_t position, const float *keys, const float *values)
{
    for (uint32_t g = 0; g < c->groups; g++) {
        size_t at = attention_at(c, slot, layer, g, position);

        k->narrow(c->keys + at, keys + (size_t)g * c->head_size, c->head_size);
        k->narrow(c->values + at, values + (size_t)g * c->head_size, c->head_size);
    }
}

void attention_mix(const struct attention_cache *c, const struct llm_kernels *k, uint32_t layer,
                   uint32_t slot, uint32_t position, const float *q, float *scores, float *z)
{
    float factor = 1 / sqrtf((float)c->head_size);

    for (uint32_t h = 0; h < c->groups * c->heads_per_group; h++) {
        size_t at = attention_at(c, slot, layer, h / c->heads_per_group, 0);
        float sum;

        k->scores(q + (size_t)h * c->head_size, c->keys + at, c->head_size, position + 1, factor,
                  scores);
        sum = k->soften(scores, position + 1);
        k->mix(scores, c->values + at, c->head_size, position + 1, 1 / sum,
               z + (size_t)h * c->head_size);
    }
}
