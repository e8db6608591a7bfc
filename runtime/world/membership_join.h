/* SPDX-License-Identifier: MIT */
/* membership_join.h: becoming a member of the next world, as one that lives or as a newcomer. */
#ifndef RUNTIME_MEMBERSHIP_JOIN_H
#define RUNTIME_MEMBERSHIP_JOIN_H

#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct group;
struct world;

/* What the coordinator has decided: world ranks, ascending. */
struct membership {
    uint32_t number, group;
    int *members, count; /* the caller frees them */
};

/* Gets the next membership and connects its members: *made is their group. asks: by REPAIR, or the
 * coordinator says it without. `old`: the world's group that ends by it; NULL: it has none yet. */
int membership_join(struct world *w, struct group *old, bool asks, struct membership *m,
                    struct group **made, struct fault *why);

/* The coordinator may be lost: then waits until mlaunch has made another one, whose address the
 * agent writes into job.json, and connects to it. */
int membership_reconnect(struct world *w, struct fault *why);

/* There are `size` ids, on these of `hosts` hosts; those that were there stay as they are, since
 * others may read them. ML_ERR_REFUSED, ML_ERR_MEMORY. */
int membership_set_ids(struct world *w, const json_t *host_of, int size, int hosts);

#endif
