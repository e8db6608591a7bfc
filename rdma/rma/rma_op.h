/* SPDX-License-Identifier: MIT */
/* rma_op.h: one put, get or atomic operation, and how far it is. */
#ifndef RDMA_RMA_RMA_OP_H
#define RDMA_RMA_RMA_OP_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An atomic operation: adds `value` to a uint64_t, or writes it if that is `expected`. */
struct rma_change {
    enum { RMA_NO_CHANGE, RMA_ADD, RMA_SWAP } kind;
    uint64_t value, expected;
};

struct rma_op {
    bool is_get;
    struct rma_change change; /* to the 8 bytes that a get reads */
    int peer;
    unsigned char *local; /* not written by a put */
    size_t size;
    uint64_t offset; /* in the peer's part */
    /* NULL, unless it was started: see rma_start */
    void (*on_done)(struct rma_op *op, const struct fault *why);
    /* kept by rma_qps.c: */
    bool is_direct; /* between the caller's memory and the peer's */
    uint32_t slice; /* bytes of each slice but the last */
    size_t posted;
    unsigned under_way;  /* slices that use the caller's memory or still have to write it */
    int code;            /* ML_ERR_* */
    bool is_queued;      /* not all of it could be posted at once */
    struct rma_op *next; /* in a list of those that were started */
};

#endif
