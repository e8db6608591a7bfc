/* SPDX-License-Identifier: MIT */
/* work.h: one put, get or atomic operation, and how far it is. */
#ifndef RDMA_RMA_WORK_H
#define RDMA_RMA_WORK_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An atomic operation: adds `value` to a uint64_t, or writes it if that is `expected`. */
struct work_change {
    enum { WORK_NO_CHANGE, WORK_ADD, WORK_SWAP } kind;
    uint64_t value, expected;
};

struct work {
    bool is_get;
    struct work_change change; /* of the 8 bytes that a get reads */
    int peer;
    unsigned char *local; /* not written by a put */
    size_t size;
    uint64_t offset; /* in the peer's part */
    /* NULL, unless it was started: see reach_start */
    void (*on_done)(struct work *w, const struct fault *why);
    /* kept by tracks.c: */
    bool is_direct; /* between the caller's memory and the peer's */
    uint32_t slice; /* bytes of each slice but the last */
    size_t posted;
    unsigned under_way; /* slices that use the caller's memory or still have to write it */
    int code;           /* ML_ERR_* */
    bool is_queued;     /* not all of it could be posted at once */
    struct work *next;  /* in a list of those that were started */
};

#endif
