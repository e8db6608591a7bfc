/* SPDX-License-Identifier: MIT */
#include "launcher/agent/heartbeat.h"

#include "launcher/agent/agent.h"
#include "launcher/protocol/agent_protocol.h"

#include <event2/event.h>

enum { TICK_MS = 500 };

/* Ticks are counted, not time: a machine or an agent that was stopped for a minute has not listened
 * for a minute either. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    if (frame_stream_frames(a->channel) > 0 || a->is_paused)
        a->silent_ticks = 0;
    else if (++a->silent_ticks * TICK_MS >= AGENT_SILENCE_MS)
        frame_stream_fail(a->channel, "the launcher has been silent for 10 s");
}

int heartbeat_open(struct agent *a)
{
    struct timeval tick = {.tv_usec = TICK_MS * 1000};

    a->heartbeat_event = event_new(a->base, -1, EV_PERSIST, on_tick, a);
    return a->heartbeat_event ? event_add(a->heartbeat_event, &tick) : -1;
}
