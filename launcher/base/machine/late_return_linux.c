/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/late_return_linux.h"

#include "common/failure_times.h"

#include <time.h>

int64_t late_return_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* mlaunch counts from the last answer to a heartbeat. */
static int is_late(const struct late_return *l, int64_t now_ms)
{
    return l->looked_ms && now_ms - l->looked_ms >= AGENT_SILENCE_MS - AGENT_HEARTBEAT_MS;
}

enum late_return_order late_return_look(struct late_return *l, enum late_return_event event,
                                        int64_t now_ms)
{
    int late = is_late(l, now_ms);
    int64_t held_ms = l->held_ms;

    l->looked_ms = now_ms;
    if (event == LATE_RETURN_CHANNEL_END && (late || held_ms))
        return LATE_RETURN_END;
    if (late) {
        l->held_ms = now_ms;
        return held_ms ? LATE_RETURN_NOTHING : LATE_RETURN_HOLD;
    }
    if (!held_ms)
        return LATE_RETURN_NOTHING;
    /* What comes later than a tick was not waiting here: mlaunch sends a heartbeat. */
    if (event == LATE_RETURN_FRAME && now_ms - held_ms > AGENT_TICK_MS) {
        l->held_ms = 0;
        return LATE_RETURN_GO_ON;
    }
    return now_ms - held_ms > AGENT_GAP_MS ? LATE_RETURN_END : LATE_RETURN_NOTHING;
}
