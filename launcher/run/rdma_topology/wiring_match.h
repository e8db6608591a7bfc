/* SPDX-License-Identifier: MIT */
/* wiring_match.h: which ports of two hosts are the two ends of one link. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_MATCH_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_MATCH_H

#include "launcher/run/rdma_topology/wiring_end.h"

/* One link between two hosts. */
struct wiring_rail {
    struct wiring_end mine, theirs;
};

/* The rails between hosts i and j, in the order of i's entry; *count of them. If they are stated,
 * each must carry traffic to one of the other host's; else they are as many of the fastest ports as
 * carry it. ML_ERR_*: *host is the host that the sentence is about. */
int wiring_match(const struct wiring_facts *f, int i, int j, struct wiring_rail rails[RDMA_RAILS],
                 int *count, int *host, struct fault *why);

#endif
