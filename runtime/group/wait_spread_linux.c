/* SPDX-License-Identifier: MIT */
/*
 * Two ranks that take turns on one processor by yielding never look to the scheduler like two that
 * need a processor each: both have just run, and a task whose data are in the cache is not moved.
 * They stay there, at a tenth of the speed, above all where another program keeps a processor busy.
 * Sleeping does not part them but brings them together: a task that is woken through a pipe is put
 * beside the one that woke it (doc/notes/processor-sharing.md). So each waiting rank notes where it
 * waits, and of two on one processor the one with the higher rank moves, by setting an affinity
 * without that processor for a moment.
 */
#include "runtime/group/wait_spread_linux.h"

#include "runtime/group/sleeper.h"
#include "runtime/group/world.h"

#include <sched.h>

enum { SPREAD_NS = 10 * 1000 * 1000 /* from one move to the next: each costs some 20 us */ };

static void spread_note(struct group *g, int processor)
{
    atomic_store_explicit(&g->shared.slots[g->rank].processor, processor + 1, memory_order_relaxed);
}

static bool spread_is_shared(struct group *g, int processor)
{
    for (int i = 0; i < g->rank; i++)
        if (atomic_load_explicit(&g->shared.slots[i].processor, memory_order_relaxed) ==
            processor + 1)
            return true;
    return false;
}

static void spread_leave(int processor)
{
    cpu_set_t all, others;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0)
        return;
    (void)sched_setaffinity(0, sizeof(all), &all);
}

void wait_spread(struct group *g, int64_t now_ns)
{
    int processor;

    if (!g->shared.slots || g->world->is_crowded)
        return;
    processor = sched_getcpu();
    if (processor < 0)
        return;
    spread_note(g, processor);
    if (now_ns - g->waiting.spread_ns < SPREAD_NS || !spread_is_shared(g, processor))
        return;
    g->waiting.spread_ns = now_ns;
    spread_leave(processor);
    spread_note(g, sched_getcpu());
}
