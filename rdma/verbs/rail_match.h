/* SPDX-License-Identifier: MIT */
/* rail_match.h: pairs this side's rails with the peer's. */
#ifndef RDMA_VERBS_RAIL_MATCH_H
#define RDMA_VERBS_RAIL_MATCH_H

#include "common/rdma_choice.h"
#include "rdma/verbs/rail_end.h"

#include <stdbool.h>

/* True if the `count` ends that the peer published are safe to use. */
bool rail_match_is_valid(const struct rail_end *ends, int count);

/* Sets match[i] to the index of the higher rank's rail that is the other end of the lower rank's
 * rail i: one in the same subnet if there is one; the rest are paired in the order of the lists. */
void rail_match(const struct rail_end *low, const struct rail_end *high, int count,
                int match[RDMA_RAILS]);

#endif
