/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_phases.h"

#include "common/failure_times.h"
#include "common/log.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"

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
 * SURVEYING lies between CONNECTING and PREPARING, with the same ways out. It asks the hosts for
 * their RDMA devices and lets them try the links; without the rdma backend there is no survey, and
 * it is passed at once.
 */
static const struct job_round_transition transitions[] = {
    {JOB_ROUND_CONNECTING, ROUND_EVENT_READY, JOB_ROUND_SURVEYING, job_round_steps_survey},
    {JOB_ROUND_CONNECTING, ROUND_EVENT_FAILED, JOB_ROUND_LEAVING, job_round_steps_report},
    {JOB_ROUND_CONNECTING, ROUND_EVENT_STOP, JOB_ROUND_LEAVING, job_round_steps_abandon},
    {JOB_ROUND_SURVEYING, ROUND_EVENT_READY, JOB_ROUND_PREPARING, job_round_steps_prepare},
    {JOB_ROUND_SURVEYING, ROUND_EVENT_FAILED, JOB_ROUND_LEAVING, job_round_steps_report_rdma},
    {JOB_ROUND_SURVEYING, ROUND_EVENT_STOP, JOB_ROUND_LEAVING, job_round_steps_abandon},
    {JOB_ROUND_PREPARING, ROUND_EVENT_READY, JOB_ROUND_RUNNING, job_round_steps_start},
    {JOB_ROUND_PREPARING, ROUND_EVENT_FAILED, JOB_ROUND_LEAVING, job_round_steps_report},
    {JOB_ROUND_PREPARING, ROUND_EVENT_STOP, JOB_ROUND_LEAVING, job_round_steps_abandon},
    {JOB_ROUND_RUNNING, ROUND_EVENT_STOP, JOB_ROUND_STOPPING, job_round_steps_stop},
    {JOB_ROUND_RUNNING, ROUND_EVENT_DONE, JOB_ROUND_LEAVING, job_round_steps_bye},
    {JOB_ROUND_STOPPING, ROUND_EVENT_DONE, JOB_ROUND_LEAVING, job_round_steps_bye},
    {JOB_ROUND_STOPPING, ROUND_EVENT_LATE, JOB_ROUND_LEAVING, job_round_steps_give_up},
    {JOB_ROUND_LEAVING, ROUND_EVENT_GONE, JOB_ROUND_ENDED, job_round_steps_end},
    {JOB_ROUND_LEAVING, ROUND_EVENT_LATE, JOB_ROUND_ENDED, job_round_steps_end},
};

const struct job_round_transition *job_round_phases_find(enum job_round_state state,
                                                         enum job_round_event event)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
        if (transitions[i].state == state && transitions[i].event == event)
            return &transitions[i];
    }
    return NULL;
}

/* Has the host not yet done what the state waits for? Hosts that failed before the start are not
 * waited for until all leave. */
static bool is_awaited(const struct job_round *r, const struct job_round_host *h)
{
    static const enum host_life awaited[JOB_ROUND_STATES] = {
        [JOB_ROUND_CONNECTING] = HOST_CONNECTED, [JOB_ROUND_PREPARING] = HOST_PREPARED,
        [JOB_ROUND_RUNNING] = HOST_DONE,         [JOB_ROUND_STOPPING] = HOST_DONE,
        [JOB_ROUND_LEAVING] = HOST_GONE,
    };

    enum host_life life = h->facts->life;

    if (life == HOST_STAYS || (lives_host_has_failed(life) && r->state < JOB_ROUND_LEAVING))
        return false;
    if (r->state == JOB_ROUND_PREPARING && env_copy_is_off(r->copy))
        return false;
    if (r->state == JOB_ROUND_SURVEYING)
        return agent_session_agent(r->session, (int)(h - r->hosts))->is_awaited;
    return life < awaited[r->state];
}

static enum job_round_event current_event(const struct job_round *r)
{
    bool is_waiting = false, failed = false;
    int count =
        r->state == JOB_ROUND_LEAVING ? job_round_state_hosts(r) : r->plan->where->host_count;

    for (int i = 0; i < count; i++) {
        is_waiting = is_waiting || is_awaited(r, &r->hosts[i]);
        failed = failed || lives_host_has_failed(r->lives.hosts[i].life);
    }
    switch (r->state) {
    case JOB_ROUND_CONNECTING:
    case JOB_ROUND_SURVEYING:
    case JOB_ROUND_PREPARING:
        if (r->stop.is_wanted)
            return ROUND_EVENT_STOP;
        if (is_waiting)
            return ROUND_EVENT_NONE;
        return failed ? ROUND_EVENT_FAILED : ROUND_EVENT_READY;
    case JOB_ROUND_RUNNING:
        if (!is_waiting)
            return ROUND_EVENT_DONE;
        return r->stop.is_wanted ? ROUND_EVENT_STOP : ROUND_EVENT_NONE;
    case JOB_ROUND_STOPPING:
        return is_waiting ? ROUND_EVENT_NONE : ROUND_EVENT_DONE;
    case JOB_ROUND_LEAVING:
        return is_waiting ? ROUND_EVENT_NONE : ROUND_EVENT_GONE;
    default:
        return ROUND_EVENT_NONE;
    }
}

/* False: the event does not end the present state. */
static bool transition_take(struct job_round *r, enum job_round_event event)
{
    static const char *const states[JOB_ROUND_STATES] = {
        "connecting", "trying RDMA links", "preparing", "running", "stopping", "leaving", "ended"};
    static const char *const events[ROUND_EVENTS] = {"nothing",
                                                     "all hosts are ready for the next step",
                                                     "some hosts have failed",
                                                     "the job must end",
                                                     "no rank is left",
                                                     "all channels have ended",
                                                     "the deadline has passed"};
    const struct job_round_transition *t = job_round_phases_find(r->state, event);

    if (!t)
        return false;
    log_debug("job %s: from %s to %s: %s", r->identity.id, states[t->state], states[t->next],
              events[event]);
    r->state = t->next;
    evtimer_del(r->deadline);
    t->action(r);
    return true;
}

void job_round_phases_advance(struct job_round *r)
{
    enum job_round_event event;

    /* An action sends frames, and a send may find that its channel has ended, which leads back
     * here: the loop of the outer call takes the next transition. */
    if (r->is_advancing)
        return;
    r->is_advancing = true;
    while ((event = current_event(r)) != ROUND_EVENT_NONE && transition_take(r, event))
        ;
    r->is_advancing = false;
}

void job_round_phases_expire(struct job_round *r)
{
    transition_take(r, ROUND_EVENT_LATE);
    job_round_phases_advance(r);
}

/* Independent hosts, and those that come, prepare while the ranks of others run. */
static bool is_late(const struct job_round *r, const struct job_round_host *h)
{
    bool is_preparing = r->state == JOB_ROUND_RUNNING && r->lives.left > 0;

    return is_preparing ? h->facts->life == HOST_CONNECTED : is_awaited(r, h);
}

static void hosts_fail_late(struct job_round *r)
{
    enum job_round_state state = r->state;

    /* The first failure may end the state. */
    for (int i = 0; i < job_round_state_hosts(r) && r->state == state; i++)
        if (is_late(r, &r->hosts[i]))
            job_round_steps_fail_late(r, &r->hosts[i]);
}

void job_round_phases_on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct job_round *r = arg;

    (void)fd;
    (void)what;
    /* As long as the reader of our output takes nothing, the agents keep what the ranks have
     * written and cannot send DONE, even if all ranks have ended. */
    if ((r->state == JOB_ROUND_RUNNING ||
         (r->state == JOB_ROUND_STOPPING && r->stop.step != STOP_IS_HURRIED)) &&
        !output_is_idle(r->config.output)) {
        log_debug("job %s: waiting for the reader of its output", r->identity.id);
        job_round_steps_set_deadline(r, JOB_ROUND_STOP_MARGIN_MS);
        return;
    }
    if (r->state < JOB_ROUND_STOPPING && r->at.paused_ms)
        job_round_steps_set_deadline(r, JOB_ROUND_STOP_MARGIN_MS); /* an agent's time has stopped */
    else if (r->state < JOB_ROUND_STOPPING)
        hosts_fail_late(r);
    else
        job_round_phases_expire(r);
}

void job_round_phases_want_stop(struct job_round *r, int signal, int grace_ms)
{
    r->stop.is_wanted = true;
    r->stop.signal = signal;
    r->stop.grace_ms = grace_ms;
}

void job_round_phases_on_failure(struct job_round *r)
{
    if (job_round_state_is_running(r) && r->failure.blame != BLAME_NONE)
        job_round_phases_want_stop(r, SIGTERM, r->plan->job.grace_ms);
}
