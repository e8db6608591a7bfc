/* SPDX-License-Identifier: MIT */
#include "launcher/run/state/round_pause.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/run/state/hang_watch.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/wire/channel/agent_session.h"

#include <event2/event.h>
#include <sys/time.h>

void round_pause_begin(struct job_round *r, void (*on_paused)(void *arg), void *arg)
{
    if (r->at.paused_ms)
        return;
    r->at.paused_ms = clock_ms();
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
    timer_shift(r->world.cut_limit, ms);
    timer_shift(r->world.broken_limit, ms);
    for (int i = 0; i < r->world.broken.count; i++)
        r->world.broken.pairs[i].said_ms += ms;
}

void round_pause_end(struct job_round *r)
{
    agent_session_go_on(r->session);
    hang_watch_moved(r->hang);
    if (!r->at.paused_ms)
        return;
    r->at.resumed_ms = clock_ms();
    limits_shift(r, r->at.resumed_ms - r->at.paused_ms);
    r->at.paused_ms = 0;
    log_debug("job %s: going on after a pause", r->identity.id);
}

/* Whether nobody waits for it any more: the job ends, or mlaunch grow has failed elsewhere. */
static bool is_let_go(const struct job_round *r, const struct job_round_host *h)
{
    return r->stop.is_wanted || r->state >= JOB_ROUND_STOPPING || h->facts->life == HOST_FAILED ||
           (h - r->hosts >= r->plan->where->host_count && r->growth.failed[0]);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct job_round_host *h = arg;
    struct job_round *r = h->round;

    (void)fd, (void)what;
    h->channel = NULL; /* it is closed now; a failure is told before the next one is known */
    h->channel = agent_session_reach(r->session, (int)(h - r->hosts), h->host);
    if (h->channel && is_let_go(r, h))
        agent_channel_shut(h->channel);
}

bool round_pause_opens_again(struct job_round *r, struct job_round_host *h)
{
    static const struct timeval at_once;
    enum launch_method method = h->host->launch_method;

    /* mlaunch was paused while the channel was being opened. */
    if (h->opened_ms > r->at.resumed_ms || !r->at.resumed_ms || is_let_go(r, h) || !h->channel ||
        (method != LAUNCH_METHOD_SSH && method != LAUNCH_METHOD_COMMAND) ||
        agent_channel_outlook(h->channel) == CHANNEL_STAYS_WRONG)
        return false;
    h->opened_ms = clock_ms() + 1; /* once */
    if (!h->again)
        h->again = evtimer_new(r->config.base, on_again, h);
    return h->again && evtimer_add(h->again, &at_once) == 0;
}
