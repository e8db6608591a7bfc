/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/heartbeat.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/run/round/hang_watch.h"
#include "launcher/run/round/job_round_state.h"
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
static void member_check_silence(const struct job_round *r, const struct job_round_member *m)
{
    char advice[448] = "";

    if (r->has_run && m->host->launch_method != LAUNCH_METHOD_LOCAL)
        snprintf(advice, sizeof(advice),
                 "; if the agent has been stopped, mlaunch kill %s -H %s ends its ranks",
                 r->identity.id, m->host->name);
    agent_channel_check_silence(m->channel, advice);
}

static void member_ping(struct job_round_member *m, bool asks_time)
{
    int64_t now = clock_ns();

    m->pings++;
    agent_channel_send(m->channel, LAUNCH_PING, &now, asks_time ? sizeof(now) : 0);
}

/* Agents here have this machine's clock. */
static bool member_has_clock(const struct job_round *r, const struct job_round_member *m)
{
    return r->config.recording && m->host->launch_method != LAUNCH_METHOD_LOCAL;
}

void heartbeat_ask_time(const struct job_round *r, struct job_round_member *m)
{
    if (member_has_clock(r, m))
        member_ping(m, true);
}

void heartbeat_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job_round *r = arg;
    int64_t now = clock_ms();
    bool gap = now - r->beat_ms > AGENT_HEARTBEAT_MS + GAP_MS;

    (void)fd;
    (void)what;
    r->beat_ms = now;
    if (gap)
        log_debug("job %s: no heartbeat for a while; watching the agents anew", r->identity.id);
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *m = &r->members[i];

        if (!m->channel || m->state == MEMBER_GONE)
            continue;
        if (gap || r->paused)
            agent_channel_reset_silence(m->channel);
        member_check_silence(r, m);
        if (m->state >= MEMBER_CONNECTED && m->state < MEMBER_GONE)
            member_ping(m, member_has_clock(r, m));
    }
}

void heartbeat_reset_silence(struct job_round *r)
{
    r->beat_ms = clock_ms();
    for (int i = 0; i < r->plan->host_count; i++) {
        if (r->members[i].channel)
            agent_channel_reset_silence(r->members[i].channel);
    }
}

static void pause_end(struct job_round *r)
{
    void (*on_paused)(void *arg) = r->on_paused;

    evtimer_del(r->pause_limit);
    r->on_paused = NULL;
    if (on_paused)
        on_paused(r->paused_arg);
}

void heartbeat_on_pause_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pause_end(arg);
}

/* An agent that has not got its JOB yet refuses every frame but PING. */
static bool member_has_job(const struct job_round_member *m)
{
    return m->round->state >= JOB_ROUND_PREPARING && m->state < MEMBER_GONE && !m->failed;
}

void heartbeat_check_paused(struct job_round *r)
{
    for (int i = 0; r->on_paused && i < r->plan->host_count; i++) {
        if (r->members[i].state < MEMBER_GONE && r->members[i].pings > 0)
            return;
    }
    pause_end(r);
}

void heartbeat_pause(struct job_round *r, void (*on_paused)(void *arg), void *arg)
{
    const struct timeval limit = {PAUSE_MS / 1000, 0};

    if (r->paused)
        return;
    r->paused = true;
    r->on_paused = on_paused;
    r->paused_arg = arg;
    log_debug("job %s: pausing", r->identity.id);
    evtimer_add(r->pause_limit, &limit);
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *m = &r->members[i];

        if (!member_has_job(m))
            continue;
        /* The PONG confirms that the PAUSE has arrived. An SSH channel is carried by a thread of
         * this process, which stops with it: without waiting, the PAUSE might not leave in time. */
        m->pings++;
        agent_channel_send(m->channel, LAUNCH_PAUSE, NULL, 0);
        agent_channel_send(m->channel, LAUNCH_PING, NULL, 0);
    }
    heartbeat_check_paused(r);
}

void heartbeat_resume(struct job_round *r)
{
    heartbeat_reset_silence(r);
    hang_watch_moved(r->hang);
    if (!r->paused)
        return;
    r->paused = false;
    log_debug("job %s: going on after a pause", r->identity.id);
    for (int i = 0; i < r->plan->host_count; i++) {
        if (member_has_job(&r->members[i]))
            agent_channel_send(r->members[i].channel, LAUNCH_RESUME, NULL, 0);
    }
}
