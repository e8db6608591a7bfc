/* SPDX-License-Identifier: MIT */
#include "launcher/job/restarts.h"

bool restarts_take(struct restarts *r, int64_t ran_ms, bool host_failed, int *pause_ms)
{
    int pause = RESTARTS_PAUSE_MS;

    if (ran_ms >= RESTARTS_HEALTHY_MS)
        r->used = 0;
    if (r->used >= r->most)
        return false;
    /* A host that fails again after its ranks have run for a while is not the one that was waited
     * for. */
    if (!host_failed || ran_ms >= RESTARTS_PAUSE_MOST_MS)
        r->hosts_failed = 0;
    for (int i = 0; i < r->hosts_failed && pause < RESTARTS_PAUSE_MOST_MS; i++)
        pause *= 2;
    if (host_failed)
        r->hosts_failed++;
    r->used++;
    r->count++;
    *pause_ms = !host_failed ? 0 : pause < RESTARTS_PAUSE_MOST_MS ? pause : RESTARTS_PAUSE_MOST_MS;
    return true;
}
