/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/context_numbers.h"

enum { ROOM = FABRIC_CONTEXTS_MOST + 1 };

void context_numbers_init(struct context_numbers *n)
{
    n->first = n->count = 0;
    for (uint32_t i = 1; i <= FABRIC_CONTEXTS_MOST; i++)
        context_numbers_give(n, i);
}

uint32_t context_numbers_take(struct context_numbers *n)
{
    uint32_t number = n->free[n->first];

    if (n->count == 0)
        return 0;
    n->first = (n->first + 1) % ROOM;
    n->count--;
    return number;
}

void context_numbers_give(struct context_numbers *n, uint32_t number)
{
    n->free[(n->first + n->count++) % ROOM] = (uint16_t)number;
}
