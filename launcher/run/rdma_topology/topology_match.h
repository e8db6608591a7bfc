/* SPDX-License-Identifier: MIT */
/* topology_match.h: which ports of two hosts are the two ends of one link. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_MATCH_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_MATCH_H

#include "launcher/run/rdma_topology/topology_end.h"

/* One link between two hosts. */
struct topology_rail {
    struct topology_end mine, theirs;
};

/* The rails between hosts i and j, in the order of i's entry; *count of them. If they are stated,
 * each must carry traffic to one of the other host's; else they are as many of the fastest ports as
 * carry it. ML_ERR_*: *host is the host that the sentence is about. */
int topology_match(const struct topology_facts *f, int i, int j,
                   struct topology_rail rails[RDMA_RAILS], int *count, int *host,
                   struct fault *why);

#endif
