/* SPDX-License-Identifier: MIT */
#include "launcher/run/attempt/attempt_pulse.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/run/attempt/attempt_state.h"
#include "launcher/run/attempt/hang_watch.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdio.h>

enum {
    PAUSE_MS = 1000, /* how long agents may take to confirm a pause */
    GAP_MS = 3000,   /* a heartbeat that late means that we were stopped, or the machine slept */
};

/* An agent whose processes have both been stopped cannot end its ranks by itself. The one on this
 * machine is sent SIGCONT when its channel is closed. */
static void member_check_silence(const struct attempt *a, const struct attempt_member *m)
{
    char advice[448] = "";

    if (a->has_run && m->host->way != HOST_IS_HERE)
        snprintf(advice, sizeof(advice),
                 "; if the agent has been stopped, mlaunch kill %s -H %s ends its ranks",
                 a->identity.id, m->host->name);
    agent_channel_check_silence(m->channel, advice);
}

static void member_ping(struct attempt_member *m, bool asks_time)
{
    int64_t now = clock_ns();

    m->pings++;
    agent_channel_send(m->channel, LAUNCH_PING, &now, asks_time ? sizeof(now) : 0);
}

/* Agents here have this machine's clock. */
static bool member_has_clock(const struct attempt *a, const struct attempt_member *m)
{
    return a->config.recording && m->host->way != HOST_IS_HERE;
}

void attempt_pulse_ask_time(const struct attempt *a, struct attempt_member *m)
{
    if (member_has_clock(a, m))
        member_ping(m, true);
}

void attempt_pulse_on_heartbeat(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    int64_t now = clock_ms();
    bool gap = now - a->beat_ms > AGENT_HEARTBEAT_MS + GAP_MS;

    (void)fd;
    (void)what;
    a->beat_ms = now;
    if (gap)
        log_debug("job %s: no heartbeat for a while; watching the agents anew", a->identity.id);
    for (int i = 0; i < a->plan->host_count; i++) {
        struct attempt_member *m = &a->members[i];

        if (!m->channel || m->state == MEMBER_GONE)
            continue;
        if (gap || a->paused)
            agent_channel_reset_silence(m->channel);
        member_check_silence(a, m);
        if (m->state >= MEMBER_CONNECTED && m->state < MEMBER_GONE)
            member_ping(m, member_has_clock(a, m));
    }
}

void attempt_pulse_reset_silence(struct attempt *a)
{
    a->beat_ms = clock_ms();
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].channel)
            agent_channel_reset_silence(a->members[i].channel);
    }
}

static void pause_end(struct attempt *a)
{
    void (*on_paused)(void *arg) = a->on_paused;

    evtimer_del(a->pause_limit);
    a->on_paused = NULL;
    if (on_paused)
        on_paused(a->paused_arg);
}

void attempt_pulse_on_pause_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pause_end(arg);
}

/* An agent that has not got its JOB yet refuses every frame but PING. */
static bool member_has_job(const struct attempt_member *m)
{
    return m->attempt->state >= ATTEMPT_PREPARING && m->state < MEMBER_GONE && !m->failed;
}

void attempt_pulse_check_paused(struct attempt *a)
{
    for (int i = 0; a->on_paused && i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_GONE && a->members[i].pings > 0)
            return;
    }
    pause_end(a);
}

void attempt_pulse_pause(struct attempt *a, void (*on_paused)(void *arg), void *arg)
{
    const struct timeval limit = {PAUSE_MS / 1000, 0};

    if (a->paused)
        return;
    a->paused = true;
    a->on_paused = on_paused;
    a->paused_arg = arg;
    log_debug("job %s: pausing", a->identity.id);
    evtimer_add(a->pause_limit, &limit);
    for (int i = 0; i < a->plan->host_count; i++) {
        struct attempt_member *m = &a->members[i];

        if (!member_has_job(m))
            continue;
        /* The PONG confirms that the PAUSE has arrived. An SSH channel is carried by a thread of
         * this process, which stops with it: without waiting, the PAUSE might not leave in time. */
        m->pings++;
        agent_channel_send(m->channel, LAUNCH_PAUSE, NULL, 0);
        agent_channel_send(m->channel, LAUNCH_PING, NULL, 0);
    }
    attempt_pulse_check_paused(a);
}

void attempt_pulse_resume(struct attempt *a)
{
    attempt_pulse_reset_silence(a);
    hang_watch_moved(a->hang);
    if (!a->paused)
        return;
    a->paused = false;
    log_debug("job %s: going on after a pause", a->identity.id);
    for (int i = 0; i < a->plan->host_count; i++) {
        if (member_has_job(&a->members[i]))
            agent_channel_send(a->members[i].channel, LAUNCH_RESUME, NULL, 0);
    }
}
