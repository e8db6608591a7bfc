/* SPDX-License-Identifier: MIT */
#include "rope.h"

#include <math.h>
#include <stdlib.h>

int rope_open(struct rope *r, const struct model_shape *s, const float *divisor)
{
    r->pairs = s->head_size / 2;
    r->is_split = s->is_rope_split;
    r->frequency = malloc(r->pairs * sizeof(*r->frequency));
    if (!r->frequency)
        return -1;
    for (uint32_t i = 0; i < r->pairs; i++)
        r->frequency[i] = pow(s->rope_base, -2.0 * i / s->head_size) / s->rope_factor /
                          (divisor ? divisor[i] : 1);
    return 0;
}

void rope_close(struct rope *r)
{
    free(r->frequency);
    r->frequency = NULL;
}

void rope_angles(const struct rope *r, int32_t position, float *cosines, float *sines)
{
    for (uint32_t i = 0; i < r->pairs; i++) {
        cosines[i] = (float)cos(position * r->frequency[i]);
        sines[i] = (float)sin(position * r->frequency[i]);
    }
}

void rope_turn(const struct rope *r, const float *cosines, const float *sines, float *x,
               uint32_t heads)
{
    uint32_t step = r->is_split ? 1 : 2, other = r->is_split ? r->pairs : 1;

    for (uint32_t h = 0; h < heads; h++, x += 2 * (size_t)r->pairs) {
        for (uint32_t i = 0; i < r->pairs; i++) {
            float *a = x + (size_t)i * step, *b = a + other, old = *a;

            *a = old * cosines[i] - *b * sines[i];
            *b = old * sines[i] + *b * cosines[i];
        }
    }
}
