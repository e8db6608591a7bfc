/* SPDX-License-Identifier: MIT */
#include "runtime/group/sleeper.h"

#include "runtime/group/bell.h"
#include "runtime/group/group.h"
#include "runtime/group/news.h"
#include "runtime/group/world.h"

#include <errno.h>

void sleeper_ring(struct sleeper_slot *slot, struct group *g, int rank)
{
    char who[GROUP_MEMBER_TEXT];
    struct fault why;

    /* The first rank to clear is_asleep rings; the sleeper sets it again before its next sleep. */
    if (!atomic_exchange(&slot->is_asleep, 0) || bell_ring(g->peer_bells[rank]))
        return;
    /* No other rank will ring now, so the coordinator has to wake the sleeper. */
    fault_os(&why, ML_ERR_SYSTEM, errno,
             "cannot wake rank %d (has the program closed descriptors that it did not open?)",
             g->members[rank]);
    fault_wrap(&why, "%s", group_describe(g, g->rank, who));
    news_break(g->world->news, g, &why);
}
