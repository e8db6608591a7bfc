/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/restarts.h"

int restarts_pause_ms(int n)
{
    int pause = n > 0 ? RESTARTS_PAUSE_MS : 0;

    for (; n > 1 && pause < RESTARTS_PAUSE_MOST_MS; n--)
        pause *= 2;
    return pause < RESTARTS_PAUSE_MOST_MS ? pause : RESTARTS_PAUSE_MOST_MS;
}

bool restarts_take(struct restarts *r, int64_t ran_ms, bool host_failed, int *pause_ms)
{
    if (ran_ms >= RESTARTS_HEALTHY_MS)
        r->used = 0;
    if (r->used >= r->most)
        return false;
    /* A host that fails again after its ranks have run for a while is not the one that was waited
     * for. */
    if (!host_failed || ran_ms >= RESTARTS_PAUSE_MOST_MS)
        r->hosts_failed = 0;
    if (host_failed || ran_ms >= RESTARTS_FAST_MS)
        r->ranks_failed = 0;
    *pause_ms =
        host_failed ? restarts_pause_ms(++r->hosts_failed) : restarts_pause_ms(r->ranks_failed++);
    r->used++;
    r->count++;
    return true;
}
