/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_pause.h"

#include "common/log.h"
#include "launcher/run/round/hang_watch.h"
#include "launcher/run/round/job_round_state.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>

enum { PAUSE_MS = 1000 }; /* how long agents may take to confirm a pause */

static void pause_confirm(struct job_round *r)
{
    void (*on_paused)(void *arg) = r->on_paused;

    evtimer_del(r->pause_limit);
    r->on_paused = NULL;
    if (on_paused)
        on_paused(r->paused_arg);
}

void round_pause_on_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pause_confirm(arg);
}

/* An agent that has not got its JOB yet refuses every frame but PING. */
static bool member_has_job(const struct job_round_member *m)
{
    return m->round->state >= JOB_ROUND_PREPARING && m->state >= MEMBER_CONNECTED &&
           m->state < MEMBER_GONE && !m->failed;
}

void round_pause_check(struct job_round *r)
{
    for (int i = 0; r->on_paused && i < r->plan->host_count; i++)
        if (agent_session_agent(r->session, i)->pings > 0)
            return;
    pause_confirm(r);
}

void round_pause_begin(struct job_round *r, void (*on_paused)(void *arg), void *arg)
{
    const struct timeval limit = {PAUSE_MS / 1000, 0};

    if (r->paused)
        return;
    r->paused = true;
    r->on_paused = on_paused;
    r->paused_arg = arg;
    log_debug("job %s: pausing", r->identity.id);
    agent_session_expect_silence(r->session, true);
    evtimer_add(r->pause_limit, &limit);
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *m = &r->members[i];

        if (!member_has_job(m))
            continue;
        /* The PONG confirms that the PAUSE has arrived. An SSH channel is carried by a thread of
         * this process, which stops with it: without waiting, the PAUSE might not leave in time. */
        agent_channel_send(m->channel, LAUNCH_PAUSE, NULL, 0);
        agent_session_ping(r->session, i);
    }
    round_pause_check(r);
}

void round_pause_end(struct job_round *r)
{
    agent_session_reset_silence(r->session);
    hang_watch_moved(r->hang);
    if (!r->paused)
        return;
    r->paused = false;
    agent_session_expect_silence(r->session, false);
    log_debug("job %s: going on after a pause", r->identity.id);
    for (int i = 0; i < r->plan->host_count; i++) {
        if (member_has_job(&r->members[i]))
            agent_channel_send(r->members[i].channel, LAUNCH_RESUME, NULL, 0);
    }
}
