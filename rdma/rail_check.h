/* SPDX-License-Identifier: MIT */
/* rail_check.h: the first chunk on each rail, which says who sends it: so wiring that is not what the
 * hostfile says is found out before anything else goes over it. */
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

/* That of the rail with this index of `rails`. tag: the same for all of a group and nobody else. */
struct rail_check rail_check_make(uint64_t tag, int from, int to, int rail, int rails);

/* What came over the rail `over`, where `wanted` should have, over r. ML_ERR_LINK naming what is not as
 * wired. */
int rail_check_compare(const struct rail *r, const struct rail *over,
                       const struct rail_check *wanted, const void *came, size_t size,
                       struct fault *why);

/* Nothing came over r in time. */
int rail_check_late(const struct rail *r, struct fault *why);

#endif
