/* SPDX-License-Identifier: MIT */
/*
 * reduce_order.h: a vector out of as many as there are ranks, reduced in the order of ranks, so that it has the same bits
 * whoever computes it. By pieces that fit in a first-level cache with what comes of them: each operand comes through the
 * caches once.
 */
#ifndef RUNTIME_STEPS_REDUCE_ORDER_H
#define RUNTIME_STEPS_REDUCE_ORDER_H

#include "runtime/group/group.h"

/* Where the operands are; stands first in a struct of whoever has them. */
struct operands {
    /* Operand `i` from `offset` bytes on. */
    const char *(*find)(const struct operands *o, int i, size_t offset);
    int count; /* two at least */
};

/* sum = operand 0 op operand 1 op … of `size` bytes. It may lie over one of the operands: only the last step writes it. */
void reduce_order_run(const struct operands *o, const struct call *call, char *sum, size_t size);

#endif
