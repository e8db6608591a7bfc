/* SPDX-License-Identifier: MIT */
#include "runtime/group/sleeper.h"

#include "runtime/group/bell.h"
#include "runtime/group/group.h"
#include "runtime/group/world.h"

void sleeper_ring(struct sleeper_slot *slot, struct group *g, int rank)
{
    const struct world *w = g->world;

    /* The first rank to clear is_asleep rings; the sleeper sets it again before its next sleep. */
    if (!atomic_exchange(&slot->is_asleep, 0))
        return;
    if (g->peer_bells[rank] < 0)
        g->peer_bells[rank] = bell_find(w->dir, w->generation, g->id, g->members[rank]);
    if (g->peer_bells[rank] >= 0)
        bell_ring(g->peer_bells[rank]);
}
