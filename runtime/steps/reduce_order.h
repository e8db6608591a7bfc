/* SPDX-License-Identifier: MIT */
/*
 * reduce_order.h: reduces several vectors in the order of ranks, so that the result has the same
 * bits on whichever rank computes it. It works on pieces that fit in a first-level cache together
 * with their partial result, so that each operand passes through the caches once.
 */
#ifndef RUNTIME_STEPS_REDUCE_ORDER_H
#define RUNTIME_STEPS_REDUCE_ORDER_H

#include "runtime/group/group.h"

/* Where the operands are. The first member of the caller's struct that knows them. */
struct operands {
    /* Returns operand `i` from `offset` bytes on. */
    const char *(*find)(const struct operands *o, int i, size_t offset);
    int count; /* two at least */
};

/* sum = operand 0 op operand 1 op …, of `size` bytes, with the type and the operation of `call`.
 * sum may be one of the operands, because only the last step writes it. */
void reduce_order_run(const struct operands *o, const struct call *call, char *sum, size_t size);

#endif
