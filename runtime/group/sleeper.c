/* SPDX-License-Identifier: MIT */
#include "runtime/group/sleeper.h"

#include "runtime/group/coord_events.h"
#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>

int sleeper_find_bell(struct group *g, int rank, struct fault *why)
{
    const struct world *w = g->world;

    return bell_find(&g->peer_bells[rank], w->dir, w->generation, g->id, g->members[rank], why);
}

static int bell_ring_peer(struct group *g, int rank, struct fault *why)
{
    int held[STDIO_GUARD], rc = 0;

    if (g->peer_bells[rank] < 0) {
        stdio_guard_begin(held);
        rc = sleeper_find_bell(g, rank, why);
        stdio_guard_end(held);
    }
    if (rc || bell_ring(g->peer_bells[rank]))
        return rc;
    return fault_os(why, ML_ERR_SYSTEM, errno,
                    "has the program closed descriptors that it did not open?");
}

void sleeper_ring(struct sleeper_slot *slot, struct group *g, int rank)
{
    char who[GROUP_MEMBER_TEXT];
    struct fault why;

    /* The first rank to clear is_asleep rings; the sleeper sets it again before its next sleep. */
    if (!atomic_exchange(&slot->is_asleep, 0) || bell_ring_peer(g, rank, &why) == 0)
        return;
    /* No other rank will ring now, so the coordinator has to wake the sleeper. */
    fault_wrap(&why, "%s: cannot wake rank %d", group_describe(g, g->rank, who), g->members[rank]);
    coord_events_break(g->world->coord_events, g, &why);
}
