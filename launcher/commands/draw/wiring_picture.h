/* SPDX-License-Identifier: MIT */
/* wiring_picture.h: hosts and the RDMA links between them, as they were found or stated: what a
 * picture of them shows, and what it says in words. */
#ifndef LAUNCHER_COMMANDS_DRAW_WIRING_PICTURE_H
#define LAUNCHER_COMMANDS_DRAW_WIRING_PICTURE_H

#include "launcher/run/rdma_topology/wiring_links.h"

struct wiring_picture {
    const char *const *names; /* of the hosts; not owned */
    int count;
    struct wiring_link *links; /* owned */
    size_t link_count;
};

/* The links of a matrix [host][host] of lists of devices, or null: each device of an entry is
 * paired with the one at its place in the opposite entry, and leads one way if there is none. Free
 * it with wiring_picture_clear(). ML_ERR_MEMORY. */
int wiring_picture_state(struct wiring_picture *out, const json_t *matrix, const char *const *names,
                         int count, struct fault *why);
void wiring_picture_clear(struct wiring_picture *p); /* also of zeros */

/* True if a link joins two hosts both ways. */
bool wiring_picture_joins(const struct wiring_picture *p, int i, int j);

#endif
