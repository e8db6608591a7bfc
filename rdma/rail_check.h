/* SPDX-License-Identifier: MIT */
/* rail_check.h: the first chunk on each rail names its sender, so that wiring that differs from the
 * hostfile is found before anything else is sent. */
#ifndef RDMA_RAIL_CHECK_H
#define RDMA_RAIL_CHECK_H

#include "common/fault.h"
#include "rdma/rail.h"

#include <stddef.h>
#include <stdint.h>

struct rail_check {
    uint64_t magic, tag;
    int32_t from, to, rail, rails;
};

/* The check for the rail with index `rail` of `rails`. tag: the same for all members of a group,
 * and used by no other group. */
struct rail_check rail_check_make(uint64_t tag, int from, int to, int rail, int rails);

/* Compares the `size` bytes at `came`, which arrived over rail `over`, with `wanted`, which should
 * have arrived over r. ML_ERR_LINK names what is not wired as stated. */
int rail_check_compare(const struct rail *r, const struct rail *over,
                       const struct rail_check *wanted, const void *came, size_t size,
                       struct fault *why);

/* Sets `why` because nothing arrived over r in time; returns ML_ERR_LINK. */
int rail_check_late(const struct rail *r, struct fault *why);

#endif
