/* SPDX-License-Identifier: MIT */
/* topology_cables.h: all links that a survey has found, also those that no job would use: slow
 * ones, those that carry traffic one way only, and those that should carry traffic and don't. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CABLES_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CABLES_H

#include "launcher/run/rdma_topology/topology_end.h"

enum topology_cable_state {
    TOPOLOGY_CABLE_GOOD,
    TOPOLOGY_CABLE_SLOW,    /* it carries traffic, but another link is faster */
    TOPOLOGY_CABLE_ONE_WAY, /* `from` reaches `to`, and not the other way */
    TOPOLOGY_CABLE_SILENT,  /* both are up in one subnet or fabric, and nothing comes through */
};

struct topology_cable {
    int from, to; /* indices of hosts */
    char from_port[TOPOLOGY_PORT_TEXT], to_port[TOPOLOGY_PORT_TEXT];
    double gigabits; /* per second, of the slower port; 0: unknown */
    enum topology_cable_state state;
};

/* An array of *count links, owned by the caller; the pairs of hosts in order, and of each pair the
 * links that a job would use first. ML_ERR_MEMORY. */
int topology_cables_find(const struct topology_facts *f, struct topology_cable **out, size_t *count,
                         struct fault *why);

#endif
