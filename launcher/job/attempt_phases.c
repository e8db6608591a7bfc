/* SPDX-License-Identifier: MIT */
#include "launcher/job/attempt_phases.h"

#include "launcher/job/attempt_steps.h"

#include <event2/event.h>
#include <signal.h>

/*
 *                      all said HELLO,         all said READY
 *                      and whom they reach
 *   CONNECTING ───────────────────▶ PREPARING ─────────────▶ RUNNING ─────────┐
 *       │                               │                       │ a failure,    │ all said DONE
 *       │ all answered, some badly;     │                       │ a stop        │ or are lost
 *       │ or a stop                     │                       ▼               │
 *       │                               │                    STOPPING           │
 *       │                               │     all DONE or lost; │               │
 *       │                               │     or too late       │               │
 *       └───────────────────────────────┴─────────▶ LEAVING ◀───┴───────────────┘
 *                                                      │ all channels have ended; or too late
 *                                                      ▼
 *                                                    ENDED
 *
 * Between CONNECTING and PREPARING lie LOOKING and TRYING, which are passed at once unless the backend is rdma.
 */
enum attempt_event {
    EVENT_NONE,
    EVENT_WELL,  /* all hosts have taken the step */
    EVENT_BADLY, /* all hosts have answered, some have failed */
    EVENT_STOP,  /* the run shall end */
    EVENT_DONE,  /* no host has anything left that runs */
    EVENT_GONE,  /* no channel is left */
    EVENT_LATE,  /* the deadline */
};

static const struct transition {
    enum attempt_state state;
    enum attempt_event event;
    enum attempt_state next;
    void (*action)(struct attempt *a);
} transitions[] = {
    {ATTEMPT_CONNECTING, EVENT_WELL, ATTEMPT_LOOKING, attempt_steps_look},
    {ATTEMPT_CONNECTING, EVENT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_CONNECTING, EVENT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_LOOKING, EVENT_WELL, ATTEMPT_TRYING, attempt_steps_try},
    {ATTEMPT_LOOKING, EVENT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_LOOKING, EVENT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_TRYING, EVENT_WELL, ATTEMPT_PREPARING, attempt_steps_prepare},
    {ATTEMPT_TRYING, EVENT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_TRYING, EVENT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_PREPARING, EVENT_WELL, ATTEMPT_RUNNING, attempt_steps_start},
    {ATTEMPT_PREPARING, EVENT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_PREPARING, EVENT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_RUNNING, EVENT_STOP, ATTEMPT_STOPPING, attempt_steps_stop},
    {ATTEMPT_RUNNING, EVENT_DONE, ATTEMPT_LEAVING, attempt_steps_bye},
    {ATTEMPT_STOPPING, EVENT_DONE, ATTEMPT_LEAVING, attempt_steps_bye},
    {ATTEMPT_STOPPING, EVENT_LATE, ATTEMPT_LEAVING, attempt_steps_give_up},
    {ATTEMPT_LEAVING, EVENT_GONE, ATTEMPT_ENDED, attempt_steps_end},
    {ATTEMPT_LEAVING, EVENT_LATE, ATTEMPT_ENDED, attempt_steps_end},
};

/* All members are at least in `state`, or have failed. */
static enum attempt_event members_event(const struct attempt *a, enum attempt_member_state state)
{
    bool failed = false;

    for (int i = 0; i < a->plan->host_count; i++) {
        const struct attempt_member *m = &a->members[i];

        if (!m->failed && m->state < state)
            return EVENT_NONE;
        failed = failed || m->failed;
    }
    return failed ? EVENT_BADLY : EVENT_WELL;
}

/* All members have answered that many rounds of questions, or have failed. */
static enum attempt_event survey_event(const struct attempt *a, int rounds)
{
    bool failed = false;

    for (int i = 0; i < a->plan->host_count; i++) {
        const struct attempt_member *m = &a->members[i];

        if (a->survey && !m->failed && m->rounds < rounds)
            return EVENT_NONE;
        failed = failed || m->failed;
    }
    return failed ? EVENT_BADLY : EVENT_WELL;
}

static bool all_are(const struct attempt *a, enum attempt_member_state state)
{
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < state)
            return false;
    }
    return true;
}

static enum attempt_event current_event(const struct attempt *a)
{
    switch (a->state) {
    case ATTEMPT_CONNECTING:
        return a->stop_wanted ? EVENT_STOP : members_event(a, MEMBER_CONNECTED);
    case ATTEMPT_LOOKING:
        return a->stop_wanted ? EVENT_STOP : survey_event(a, 1);
    case ATTEMPT_TRYING:
        return a->stop_wanted ? EVENT_STOP : survey_event(a, 2);
    case ATTEMPT_PREPARING:
        return a->stop_wanted ? EVENT_STOP : members_event(a, MEMBER_PREPARED);
    case ATTEMPT_RUNNING:
        if (all_are(a, MEMBER_DONE))
            return EVENT_DONE;
        return a->stop_wanted ? EVENT_STOP : EVENT_NONE;
    case ATTEMPT_STOPPING:
        return all_are(a, MEMBER_DONE) ? EVENT_DONE : EVENT_NONE;
    case ATTEMPT_LEAVING:
        return all_are(a, MEMBER_GONE) ? EVENT_GONE : EVENT_NONE;
    default:
        return EVENT_NONE;
    }
}

static bool transition_take(struct attempt *a, enum attempt_event event)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
        const struct transition *t = &transitions[i];

        if (t->state == a->state && t->event == event) {
            a->state = t->next;
            evtimer_del(a->deadline);
            t->action(a);
            return true;
        }
    }
    return false;
}

void attempt_phases_advance(struct attempt *a)
{
    enum attempt_event event;

    /* A send may find that the channel has ended and come back here: the loop below goes on. */
    if (a->is_advancing)
        return;
    a->is_advancing = true;
    while ((event = current_event(a)) != EVENT_NONE && transition_take(a, event))
        ;
    a->is_advancing = false;
}

void attempt_phases_expire(struct attempt *a)
{
    if (a->state != ATTEMPT_ENDED)
        transition_take(a, EVENT_LATE);
    attempt_phases_advance(a);
}

void attempt_phases_on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;

    (void)fd;
    (void)what;
    /* While the reader takes nothing, agents keep what ranks have written, and are not done: that says nothing
     * about the ranks. */
    if (a->state == ATTEMPT_STOPPING && !a->is_hurried && !output_is_idle(a->config.output)) {
        attempt_steps_set_deadline(a, ATTEMPT_STOP_MARGIN_MS);
        return;
    }
    attempt_phases_expire(a);
}

void attempt_phases_want_stop(struct attempt *a, int signal, int grace_ms)
{
    a->stop_wanted = true;
    a->stop_signal = signal;
    a->stop_grace_ms = grace_ms;
}

void attempt_phases_on_failure(struct attempt *a, bool others_may_go_on)
{
    bool go_on = others_may_go_on && a->plan->continue_on_failure;

    if (a->state == ATTEMPT_RUNNING && a->failure.blame != BLAME_NONE && !go_on && !a->stop_wanted)
        attempt_phases_want_stop(a, SIGTERM, a->plan->grace_ms);
    attempt_steps_report_failure(a, a->ranks_left == 0);
}
