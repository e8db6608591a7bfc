/* SPDX-License-Identifier: MIT */
#include "launcher/run/attempt/attempt_phases.h"

#include "common/log.h"
#include "launcher/run/attempt/attempt_steps.h"
#include "launcher/run/rdma_topology/wiring_survey.h"
#include "launcher/run/stdio/output.h"

#include <event2/event.h>
#include <signal.h>

/*
 *                      all sent HELLO          all sent READY
 *   CONNECTING ───────────────────▶ PREPARING ─────────────▶ RUNNING ─────────┐
 *       │                               │                       │ a failure   │ all sent DONE
 *       │ all answered, some failed;    │                       │ or a stop   │ or are lost
 *       │ or a stop                     │                       ▼             │
 *       │                               │                    STOPPING         │
 *       │                               │     all DONE or lost; │             │
 *       │                               │     or too late       │             │
 *       └───────────────────────────────┴─────────▶ LEAVING ◀───┴─────────────┘
 *                                                      │ all channels have ended; or too late
 *                                                      ▼
 *                                                    ENDED
 *
 * LOOKING and TRYING lie between CONNECTING and PREPARING, with the same ways out. They ask the
 * hosts for their RDMA devices and let them try the links; without the rdma backend there is no
 * survey, and both are passed at once.
 */
static const struct attempt_transition transitions[] = {
    {ATTEMPT_CONNECTING, ATTEMPT_WELL, ATTEMPT_LOOKING, attempt_steps_look},
    {ATTEMPT_CONNECTING, ATTEMPT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_CONNECTING, ATTEMPT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_LOOKING, ATTEMPT_WELL, ATTEMPT_TRYING, attempt_steps_try},
    {ATTEMPT_LOOKING, ATTEMPT_BADLY, ATTEMPT_LEAVING, attempt_steps_report_rdma},
    {ATTEMPT_LOOKING, ATTEMPT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_TRYING, ATTEMPT_WELL, ATTEMPT_PREPARING, attempt_steps_prepare},
    {ATTEMPT_TRYING, ATTEMPT_BADLY, ATTEMPT_LEAVING, attempt_steps_report_rdma},
    {ATTEMPT_TRYING, ATTEMPT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_PREPARING, ATTEMPT_WELL, ATTEMPT_RUNNING, attempt_steps_start},
    {ATTEMPT_PREPARING, ATTEMPT_BADLY, ATTEMPT_LEAVING, attempt_steps_report},
    {ATTEMPT_PREPARING, ATTEMPT_STOP, ATTEMPT_LEAVING, attempt_steps_abandon},
    {ATTEMPT_RUNNING, ATTEMPT_STOP, ATTEMPT_STOPPING, attempt_steps_stop},
    {ATTEMPT_RUNNING, ATTEMPT_DONE, ATTEMPT_LEAVING, attempt_steps_bye},
    {ATTEMPT_STOPPING, ATTEMPT_DONE, ATTEMPT_LEAVING, attempt_steps_bye},
    {ATTEMPT_STOPPING, ATTEMPT_LATE, ATTEMPT_LEAVING, attempt_steps_give_up},
    {ATTEMPT_LEAVING, ATTEMPT_GONE, ATTEMPT_ENDED, attempt_steps_end},
    {ATTEMPT_LEAVING, ATTEMPT_LATE, ATTEMPT_ENDED, attempt_steps_end},
};

const struct attempt_transition *attempt_phases_find(enum attempt_state state,
                                                     enum attempt_event event)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
        if (transitions[i].state == state && transitions[i].event == event)
            return &transitions[i];
    }
    return NULL;
}

/* Has the host not yet done what the state waits for? Hosts that failed before the start are not
 * waited for until all leave. */
static bool is_awaited(const struct attempt *a, const struct attempt_member *m)
{
    static const enum attempt_member_state awaited[ATTEMPT_STATES] = {
        [ATTEMPT_CONNECTING] = MEMBER_CONNECTED, [ATTEMPT_PREPARING] = MEMBER_PREPARED,
        [ATTEMPT_RUNNING] = MEMBER_DONE,         [ATTEMPT_STOPPING] = MEMBER_DONE,
        [ATTEMPT_LEAVING] = MEMBER_GONE,
    };

    if (m->failed && a->state < ATTEMPT_RUNNING)
        return false;
    if (a->state == ATTEMPT_LOOKING || a->state == ATTEMPT_TRYING)
        return a->survey &&
               m->rounds < (a->state == ATTEMPT_LOOKING ? WIRING_LOOK : WIRING_TRY) + 1;
    return m->state < awaited[a->state];
}

static enum attempt_event current_event(const struct attempt *a)
{
    bool is_waiting = false, failed = false;

    for (int i = 0; i < a->plan->host_count; i++) {
        is_waiting = is_waiting || is_awaited(a, &a->members[i]);
        failed = failed || a->members[i].failed;
    }
    switch (a->state) {
    case ATTEMPT_CONNECTING:
    case ATTEMPT_LOOKING:
    case ATTEMPT_TRYING:
    case ATTEMPT_PREPARING:
        if (a->stop_wanted)
            return ATTEMPT_STOP;
        if (is_waiting)
            return ATTEMPT_NOTHING;
        return failed ? ATTEMPT_BADLY : ATTEMPT_WELL;
    case ATTEMPT_RUNNING:
        if (!is_waiting)
            return ATTEMPT_DONE;
        return a->stop_wanted ? ATTEMPT_STOP : ATTEMPT_NOTHING;
    case ATTEMPT_STOPPING:
        return is_waiting ? ATTEMPT_NOTHING : ATTEMPT_DONE;
    case ATTEMPT_LEAVING:
        return is_waiting ? ATTEMPT_NOTHING : ATTEMPT_GONE;
    default:
        return ATTEMPT_NOTHING;
    }
}

/* False: the event does not end the present state. */
static bool transition_take(struct attempt *a, enum attempt_event event)
{
    static const char *const states[ATTEMPT_STATES] = {
        "connecting",        "looking for RDMA devices",
        "trying RDMA links", "preparing",
        "running",           "stopping",
        "leaving",           "ended"};
    static const char *const events[ATTEMPT_EVENTS] = {"nothing",
                                                       "all hosts are ready for the next step",
                                                       "some hosts have failed",
                                                       "the job must end",
                                                       "no rank is left",
                                                       "all channels have ended",
                                                       "the deadline has passed"};
    const struct attempt_transition *t = attempt_phases_find(a->state, event);

    if (!t)
        return false;
    log_debug("job %s: from %s to %s: %s", a->identity.id, states[t->state], states[t->next],
              events[event]);
    a->state = t->next;
    evtimer_del(a->deadline);
    t->action(a);
    return true;
}

void attempt_phases_advance(struct attempt *a)
{
    enum attempt_event event;

    /* An action sends frames, and a send may find that its channel has ended, which leads back
     * here: the loop of the outer call takes the next transition. */
    if (a->is_advancing)
        return;
    a->is_advancing = true;
    while ((event = current_event(a)) != ATTEMPT_NOTHING && transition_take(a, event))
        ;
    a->is_advancing = false;
}

void attempt_phases_expire(struct attempt *a)
{
    transition_take(a, ATTEMPT_LATE);
    attempt_phases_advance(a);
}

static void members_fail_late(struct attempt *a)
{
    enum attempt_state state = a->state;

    /* The first failure may end the state. */
    for (int i = 0; i < a->plan->host_count && a->state == state; i++)
        if (is_awaited(a, &a->members[i]))
            attempt_steps_fail_late(a, &a->members[i]);
}

void attempt_phases_on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;

    (void)fd;
    (void)what;
    /* As long as the reader of our output takes nothing, the agents keep what the ranks have
     * written and cannot send DONE, even if all ranks have ended. */
    if ((a->state == ATTEMPT_RUNNING || (a->state == ATTEMPT_STOPPING && !a->is_hurried)) &&
        !output_is_idle(a->config.output)) {
        log_debug("job %s: waiting for the reader of its output", a->identity.id);
        attempt_steps_set_deadline(a, ATTEMPT_STOP_MARGIN_MS);
        return;
    }
    if (a->state < ATTEMPT_STOPPING && a->paused)
        attempt_steps_set_deadline(a, ATTEMPT_STOP_MARGIN_MS); /* an agent's time has stopped */
    else if (a->state < ATTEMPT_STOPPING)
        members_fail_late(a);
    else
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
}
