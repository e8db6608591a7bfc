/* SPDX-License-Identifier: MIT */
/* wiring_links.h: all links that a survey has found, also those that no job would use: slow ones,
 * those that carry traffic one way only, and those that should carry traffic and don't. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_LINKS_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_LINKS_H

#include "launcher/run/rdma_topology/wiring_end.h"

enum wiring_link_state {
    WIRING_LINK_GOOD,
    WIRING_LINK_SLOW,    /* it carries traffic, but another link is faster */
    WIRING_LINK_ONE_WAY, /* `from` reaches `to`, and not the other way */
    WIRING_LINK_SILENT,  /* both are up in one subnet or fabric, and nothing comes through */
};

struct wiring_link {
    int from, to; /* indices of hosts */
    char from_port[WIRING_PORT_TEXT], to_port[WIRING_PORT_TEXT];
    double gigabits; /* per second, of the slower port; 0: unknown */
    enum wiring_link_state state;
};

/* An array of *count links, owned by the caller; the pairs of hosts in order, and of each pair the
 * links that a job would use first. ML_ERR_MEMORY. */
int wiring_links_find(const struct wiring_facts *f, struct wiring_link **out, size_t *count,
                      struct fault *why);

#endif
