/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/clock_offset.h"

#include <stdbool.h>

static void trip_improve(struct clock_trip *best, const struct clock_trip *t, bool is_first)
{
    if (is_first || t->round_ns < best->round_ns)
        *best = *t;
}

void clock_offset_add(struct clock_offset *c, int64_t began_ns, int64_t ended_ns, int64_t theirs)
{
    struct clock_trip t = {.at_ns = began_ns + (ended_ns - began_ns) / 2,
                           .round_ns = ended_ns - began_ns};

    if (t.round_ns < 0)
        return;
    t.ahead_ns = (int64_t)((uint64_t)theirs - (uint64_t)t.at_ns);
    if (c->trips < CLOCK_OFFSET_TRIPS)
        trip_improve(&c->first, &t, c->trips == 0);
    trip_improve(&c->next, &t, c->trips % CLOCK_OFFSET_TRIPS == 0);
    c->trips = c->trips + 1 < 2 * CLOCK_OFFSET_TRIPS ? c->trips + 1 : CLOCK_OFFSET_TRIPS;
    if (c->trips % CLOCK_OFFSET_TRIPS == 0)
        c->last = c->next;
}

uint64_t clock_offset_ours(const struct clock_offset *c, uint64_t theirs_ns)
{
    int64_t ours = (int64_t)(theirs_ns - (uint64_t)c->first.ahead_ns);
    int64_t span = c->last.at_ns - c->first.at_ns;

    if (span <= 0)
        return (uint64_t)ours;
    return (uint64_t)(ours - (int64_t)((double)(c->last.ahead_ns - c->first.ahead_ns) *
                                       ((double)(ours - c->first.at_ns) / (double)span)));
}

int64_t clock_offset_error_ns(const struct clock_offset *c)
{
    return (c->first.round_ns > c->last.round_ns ? c->first.round_ns : c->last.round_ns) / 2;
}
