/* SPDX-License-Identifier: MIT */
/* topology_picture.h: hosts and the RDMA links between them, as they were found or stated: what a
 * picture of them shows, and what it says in words. */
#ifndef LAUNCHER_COMMANDS_DRAW_TOPOLOGY_PICTURE_H
#define LAUNCHER_COMMANDS_DRAW_TOPOLOGY_PICTURE_H

#include "launcher/run/rdma_topology/topology_cables.h"

struct topology_picture {
    const char *const *names; /* the hosts'; not owned */
    int count;
    struct topology_cable *cables; /* owned */
    size_t cable_count;
};

/* The links of a matrix [host][host] of lists of devices, or null: each device of an entry is
 * paired with the one at its place in the opposite entry, and leads one way if there is none. Free
 * it with topology_picture_clear(). ML_ERR_MEMORY. */
int topology_picture_state(struct topology_picture *out, const json_t *matrix,
                           const char *const *names, int count, struct fault *why);
void topology_picture_clear(struct topology_picture *p); /* takes zeros */

/* True if a link joins two hosts both ways. */
bool topology_picture_joins(const struct topology_picture *p, int i, int j);

#endif
