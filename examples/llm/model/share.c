/* SPDX-License-Identifier: MIT */
#include "share.h"

static uint32_t share_begin(uint32_t total, uint32_t rank, uint32_t ranks)
{
    return (uint32_t)((uint64_t)total * rank / ranks);
}

struct share share_of(uint32_t total, uint32_t rank, uint32_t ranks)
{
    uint32_t first = share_begin(total, rank, ranks);

    return (struct share){first, share_begin(total, rank + 1, ranks) - first};
}

uint32_t share_unit(uint32_t values, uint32_t block)
{
    uint32_t a = values, b = block;

    while (b) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return block / a;
}
