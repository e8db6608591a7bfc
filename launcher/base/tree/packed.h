/* SPDX-License-Identifier: MIT */
/* packed.h: numbers as bytes, the highest first. */
#ifndef LAUNCHER_BASE_TREE_PACKED_H
#define LAUNCHER_BASE_TREE_PACKED_H

#include <stdint.h>

static inline void packed_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (uint8_t)value;
}

static inline uint64_t packed_get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

#endif
