/* SPDX-License-Identifier: MIT */
/* rail_match.h: which of the peer's rails is the other end of which of this side's. */
#ifndef RDMA_RAIL_MATCH_H
#define RDMA_RAIL_MATCH_H

#include "rdma/rail_end.h"

#include <stdbool.h>

/* Whether what the peer published of its `count` rails may be used. */
bool rail_match_is_valid(const struct rail_end *ends, int count);

/* match[i]: which of the higher rank's rails is the other end of the lower rank's i-th: one in the
 * same subnet if there is one, else in the order of the lists. */
void rail_match(const struct rail_end *low, const struct rail_end *high, int count,
                int match[RAILS_MOST]);

#endif
