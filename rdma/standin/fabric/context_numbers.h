/* SPDX-License-Identifier: MIT */
/* context_numbers.h: the numbers of contexts, from 1 on. The one that has been free for the longest
 * time is taken. */
#ifndef RDMA_STANDIN_FABRIC_CONTEXT_NUMBERS_H
#define RDMA_STANDIN_FABRIC_CONTEXT_NUMBERS_H

#include "rdma/standin/fabric_message.h"

struct context_numbers {
    uint16_t free[FABRIC_CONTEXTS_MOST + 1]; /* a ring */
    uint32_t first, count;
};

void context_numbers_init(struct context_numbers *n);
uint32_t context_numbers_take(struct context_numbers *n); /* 0: none is free */
void context_numbers_give(struct context_numbers *n, uint32_t number);

#endif
