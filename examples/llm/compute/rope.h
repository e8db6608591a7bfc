/* SPDX-License-Identifier: MIT */
/* rope.h: rotary position embedding: each pair of a head's numbers is turned by an angle that grows
 * with the position (Su and others, "RoFormer", 2021). */
#ifndef LLM_COMPUTE_ROPE_H
#define LLM_COMPUTE_ROPE_H

#include "../model/model_shape.h"

struct rope {
    uint32_t pairs;
    bool is_split;
    double *frequency; /* for each pair, its angle at position 1 */
};

/* `divisor`: of each pair's frequency; NULL: none. 0, or -1: out of memory. */
int rope_open(struct rope *r, const struct model_shape *s, const float *divisor);
void rope_close(struct rope *r);

/* The cosine and the sine of each pair's angle at a position. */
void rope_angles(const struct rope *r, int32_t position, float *cosines, float *sines);

/* Turns `heads` heads that lie behind each other. */
void rope_turn(const struct rope *r, const float *cosines, const float *sines, float *x,
               uint32_t heads);

#endif
