/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_pause.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/run/round/hang_watch.h"
#include "launcher/run/round/job_round_state.h"
#include "launcher/wire/channel/agent_session.h"

#include <event2/event.h>
#include <sys/time.h>

void round_pause_begin(struct job_round *r, void (*on_paused)(void *arg), void *arg)
{
    if (r->paused)
        return;
    r->paused = true;
    r->paused_ms = clock_ms();
    log_debug("job %s: pausing", r->identity.id);
    agent_session_pause(r->session, on_paused, arg);
}

static int64_t milliseconds(const struct timeval *t)
{
    return (int64_t)t->tv_sec * 1000 + t->tv_usec / 1000;
}

/* The time that was left is left again. */
static void timer_shift(struct event *timer, int64_t ms)
{
    struct timeval due, now, left;
    int64_t left_ms;

    if (!evtimer_pending(timer, &due))
        return;
    gettimeofday(&now, NULL); /* the clock of event_pending() */
    left_ms = milliseconds(&due) - milliseconds(&now) + ms;
    left_ms = left_ms > 0 ? left_ms : 0;
    left = (struct timeval){.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    evtimer_add(timer, &left);
}

/* What has a limit of time has made no progress. */
static void limits_shift(struct job_round *r, int64_t ms)
{
    timer_shift(r->deadline, ms);
    timer_shift(r->cut_limit, ms);
    timer_shift(r->broken_limit, ms);
    for (int i = 0; i < r->broken.count; i++)
        r->broken.pairs[i].said_ms += ms;
}

void round_pause_end(struct job_round *r)
{
    agent_session_go_on(r->session);
    hang_watch_moved(r->hang);
    if (!r->paused)
        return;
    r->paused = false;
    limits_shift(r, clock_ms() - r->paused_ms);
    log_debug("job %s: going on after a pause", r->identity.id);
    for (int i = 0; i < job_round_members(r); i++)
        r->members[i].was_paused = r->members[i].state == MEMBER_OPENING;
}

/* Whether nobody waits for it any more: the job ends, or mlaunch grow has failed elsewhere. */
static bool is_let_go(const struct job_round *r, const struct job_round_member *m)
{
    return r->stop_wanted || r->state >= JOB_ROUND_STOPPING || m->failed ||
           (m - r->members >= r->plan->host_count && r->growth.failed[0]);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct job_round_member *m = arg;
    struct job_round *r = m->round;

    (void)fd, (void)what;
    m->channel = NULL; /* it is closed now; a failure is told before the next one is known */
    m->channel = agent_session_reach(r->session, (int)(m - r->members), m->host);
    if (m->channel && is_let_go(r, m))
        agent_channel_shut(m->channel);
}

bool round_pause_opens_again(struct job_round *r, struct job_round_member *m)
{
    static const struct timeval at_once;
    enum launch_method method = m->host->launch_method;

    if (!m->was_paused || is_let_go(r, m) || !m->channel ||
        (method != LAUNCH_METHOD_SSH && method != LAUNCH_METHOD_COMMAND) ||
        agent_channel_outlook(m->channel) == CHANNEL_STAYS_WRONG)
        return false;
    m->was_paused = false;
    if (!m->again)
        m->again = evtimer_new(r->config.base, on_again, m);
    return m->again && evtimer_add(m->again, &at_once) == 0;
}
