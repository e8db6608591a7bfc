/* SPDX-License-Identifier: MIT */
/* share.h: who has which part of what is divided among ranks. */
#ifndef LLM_MODEL_SHARE_H
#define LLM_MODEL_SHARE_H

#include <stdint.h>

struct share {
    uint32_t first, count;
};

/* The part of `rank` if `total` things are divided among `ranks`: parts follow each other in the
 * order of ranks, cover everything once, and differ by at most one. */
struct share share_of(uint32_t total, uint32_t rank, uint32_t ranks);

/* How many things, of `values` numbers each, must stay together so that a part of them is whole
 * blocks of `block` numbers. Neither is 0. */
uint32_t share_unit(uint32_t values, uint32_t block);

#endif
