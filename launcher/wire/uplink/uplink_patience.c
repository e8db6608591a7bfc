/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_patience.h"

#include "common/clock.h"
#include "common/log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_MOST_MS = 1000 };

struct uplink_patience uplink_patience_begin(int limit_ms)
{
    return (struct uplink_patience){.deadline_ms = clock_ms() + limit_ms,
                                    .pause_ms = UPLINK_PAUSE_MS};
}

bool uplink_patience_wait(struct uplink_patience *p, const struct fault *why)
{
    int left_ms = clock_left_ms(p->deadline_ms);

    if (strcmp(p->last, why->text) != 0)
        log_info("the head is not there yet, trying again: %s", why->text);
    snprintf(p->last, sizeof(p->last), "%s", why->text);
    if (left_ms == 0)
        return false;
    poll(NULL, 0, left_ms < p->pause_ms ? left_ms : p->pause_ms);
    if (p->pause_ms < PAUSE_MOST_MS)
        p->pause_ms *= 2;
    return true;
}
