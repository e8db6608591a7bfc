/* SPDX-License-Identifier: MIT */
#include "coordinator/next_world.h"

bool next_world_is_alive(const struct next_world_rank *r)
{
    return r->state == RANK_JOINED || r->state == RANK_DYING ||
           (r->state == RANK_ABSENT && !r->has_ended && !r->has_newcomer);
}

bool next_world_is_ready(const struct next_world_rank *r)
{
    return r->state == RANK_JOINED && r->has_repaired;
}

/* Its place is empty, and somebody may still come to it. One that has left is not dead. */
static bool is_awaited(const struct next_world_rank *r)
{
    return r->is_open && !r->has_newcomer && (r->state == RANK_DEAD || r->state == RANK_ABSENT);
}

struct next_world next_world_decide(const struct next_world_facts *f, int *ranks)
{
    struct next_world next = {.step = NEXT_WORLD_MAKE};
    int living = 0, ready = 0, places = 0;

    for (int i = 0; i < f->count; i++) {
        living += next_world_is_alive(&f->ranks[i]);
        ready += next_world_is_ready(&f->ranks[i]);
        places += is_awaited(&f->ranks[i]);
    }
    if (living > ready)
        return (struct next_world){.step = NEXT_WORLD_AWAIT_LIVING};
    if (ready == 0)
        return (struct next_world){.step = NEXT_WORLD_END};
    if (places > 0 && f->newcomers_ms > 0 && !f->has_waited)
        return (struct next_world){.step = NEXT_WORLD_AWAIT_NEWCOMERS, .wait_ms = f->newcomers_ms};
    for (int i = 0; i < f->count; i++) /* none that lives is not ready */
        if (next_world_is_ready(&f->ranks[i]) || f->ranks[i].has_newcomer)
            ranks[next.count++] = i;
    return next;
}
