/* SPDX-License-Identifier: MIT */
/* work.h: one put or get, and how far it is. */
#ifndef RDMA_ONESIDED_WORK_H
#define RDMA_ONESIDED_WORK_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work {
    bool is_get;
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
