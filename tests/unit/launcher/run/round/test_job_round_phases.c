/* SPDX-License-Identifier: MIT */
/*
 * test_job_round_phases.c: the life cycle of a run. The table is compared with what is expected of
 * each pair of a state and an event; then runs are put into every state with members of every kind,
 * and must take the transition that their members call for. The steps themselves are replaced by
 * ones that only note that they were taken.
 */
#include "common/failure_times.h"
#include "launcher/run/round/job_round_phases.h"

#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3 };

/* What the replaced steps note. */
static char taken[256];
static int deadline_ms;

static void note(const char *step)
{
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s%s", *taken ? " " : "", step);
}

void job_round_steps_survey(struct job_round *r)
{
    (void)r;
    note("survey");
}

void job_round_steps_prepare(struct job_round *r)
{
    (void)r;
    note("prepare");
}

void job_round_steps_start(struct job_round *r)
{
    note("start");
    for (int i = 0; i < HOSTS; i++)
        r->lives.hosts[i].life = HOST_STARTED;
}

void job_round_steps_stop(struct job_round *r)
{
    (void)r;
    note("stop");
}

void job_round_steps_bye(struct job_round *r)
{
    (void)r;
    note("bye");
}

void job_round_steps_report(struct job_round *r)
{
    (void)r;
    note("report");
}

void job_round_steps_report_rdma(struct job_round *r)
{
    (void)r;
    note("report_rdma");
}

/* As a send may that finds its channel closed: it leads back to job_round_phases_advance(). */
void job_round_steps_abandon(struct job_round *r)
{
    note("abandon");
    for (int i = 0; i < HOSTS; i++)
        r->lives.hosts[i].life = HOST_GONE;
    job_round_phases_advance(r);
    note("abandoned");
}

void job_round_steps_give_up(struct job_round *r)
{
    (void)r;
    note("give_up");
}

void job_round_steps_fail_late(struct job_round *r, struct job_round_host *h)
{
    char step[32];

    snprintf(step, sizeof(step), "fail_late:%d", (int)(h - r->hosts));
    note(step);
}

void job_round_steps_end(struct job_round *r)
{
    (void)r;
    note("end");
}

void job_round_steps_set_deadline(struct job_round *r, int ms)
{
    (void)r;
    deadline_ms = ms;
}

/* The same for output: it is idle or not. */
static bool is_idle;

bool output_is_idle(struct output *o)
{
    (void)o;
    return is_idle;
}

/* The same for the session: agents have answered about RDMA or not. */
static struct session_agent agents[HOSTS];

const struct session_agent *agent_session_agent(const struct agent_session *s, int host)
{
    (void)s;
    return &agents[host];
}

/* What is expected of each pair. */
struct expected {
    enum { UNDEFINED, STAYS, GOES } what;
    enum job_round_state next;
    void (*action)(struct job_round *r);
};

#define STAY                                                                                       \
    {                                                                                              \
        STAYS, 0, NULL                                                                             \
    }
#define GO(next, step)                                                                             \
    {                                                                                              \
        GOES, JOB_ROUND_##next, job_round_steps_##step                                             \
    }

static const struct expected expected[JOB_ROUND_STATES][ROUND_EVENTS] = {
    [JOB_ROUND_CONNECTING] = {[ROUND_EVENT_NONE] = STAY,
                              [ROUND_EVENT_READY] = GO(SURVEYING, survey),
                              [ROUND_EVENT_FAILED] = GO(LEAVING, report),
                              [ROUND_EVENT_STOP] = GO(LEAVING, abandon),
                              [ROUND_EVENT_DONE] = STAY,
                              [ROUND_EVENT_GONE] = STAY,
                              [ROUND_EVENT_LATE] = STAY},
    [JOB_ROUND_SURVEYING] = {[ROUND_EVENT_NONE] = STAY,
                             [ROUND_EVENT_READY] = GO(PREPARING, prepare),
                             [ROUND_EVENT_FAILED] = GO(LEAVING, report_rdma),
                             [ROUND_EVENT_STOP] = GO(LEAVING, abandon),
                             [ROUND_EVENT_DONE] = STAY,
                             [ROUND_EVENT_GONE] = STAY,
                             [ROUND_EVENT_LATE] = STAY},
    [JOB_ROUND_PREPARING] = {[ROUND_EVENT_NONE] = STAY,
                             [ROUND_EVENT_READY] = GO(RUNNING, start),
                             [ROUND_EVENT_FAILED] = GO(LEAVING, report),
                             [ROUND_EVENT_STOP] = GO(LEAVING, abandon),
                             [ROUND_EVENT_DONE] = STAY,
                             [ROUND_EVENT_GONE] = STAY,
                             [ROUND_EVENT_LATE] = STAY},
    [JOB_ROUND_RUNNING] = {[ROUND_EVENT_NONE] = STAY,
                           [ROUND_EVENT_READY] = STAY,
                           [ROUND_EVENT_FAILED] = STAY,
                           [ROUND_EVENT_STOP] = GO(STOPPING, stop),
                           [ROUND_EVENT_DONE] = GO(LEAVING, bye),
                           [ROUND_EVENT_GONE] = STAY,
                           [ROUND_EVENT_LATE] = STAY},
    [JOB_ROUND_STOPPING] = {[ROUND_EVENT_NONE] = STAY,
                            [ROUND_EVENT_READY] = STAY,
                            [ROUND_EVENT_FAILED] = STAY,
                            [ROUND_EVENT_STOP] = STAY,
                            [ROUND_EVENT_DONE] = GO(LEAVING, bye),
                            [ROUND_EVENT_GONE] = STAY,
                            [ROUND_EVENT_LATE] = GO(LEAVING, give_up)},
    [JOB_ROUND_LEAVING] = {[ROUND_EVENT_NONE] = STAY,
                           [ROUND_EVENT_READY] = STAY,
                           [ROUND_EVENT_FAILED] = STAY,
                           [ROUND_EVENT_STOP] = STAY,
                           [ROUND_EVENT_DONE] = STAY,
                           [ROUND_EVENT_GONE] = GO(ENDED, end),
                           [ROUND_EVENT_LATE] = GO(ENDED, end)},
    [JOB_ROUND_ENDED] = {[ROUND_EVENT_NONE] = STAY,
                         [ROUND_EVENT_READY] = STAY,
                         [ROUND_EVENT_FAILED] = STAY,
                         [ROUND_EVENT_STOP] = STAY,
                         [ROUND_EVENT_DONE] = STAY,
                         [ROUND_EVENT_GONE] = STAY,
                         [ROUND_EVENT_LATE] = STAY},
};

static void test_table(void **state)
{
    (void)state;
    for (int s = 0; s < JOB_ROUND_STATES; s++) {
        for (int e = 0; e < ROUND_EVENTS; e++) {
            const struct expected *x = &expected[s][e];
            const struct job_round_transition *t =
                job_round_phases_find((enum job_round_state)s, (enum job_round_event)e);

            if (x->what == UNDEFINED)
                fail_msg("state %d, event %d: nothing is expected of this pair", s, e);
            if (x->what == STAYS && t)
                fail_msg("state %d, event %d: must not end the state", s, e);
            if (x->what == GOES && (!t || t->next != x->next || t->action != x->action))
                fail_msg("state %d, event %d: must lead to state %d", s, e, (int)x->next);
        }
    }
}

/* A run with members but no channels. */
struct scene {
    struct event_base *base;
    struct options options;
    struct roster where;
    struct plan plan;
    struct job_round_host hosts[HOSTS];
    struct live_host facts[HOSTS];
    struct job_round r;
};

static void scene_open(struct scene *s, enum job_round_state state, enum host_life hosts)
{
    memset(s, 0, sizeof(*s));
    memset(agents, 0, sizeof(agents));
    taken[0] = '\0';
    deadline_ms = 0;
    is_idle = true;
    s->base = event_base_new();
    s->plan.options = &s->options;
    s->plan.where = &s->where;
    s->plan.where->host_count = HOSTS;
    s->plan.where->size = HOSTS;
    s->plan.job.grace_ms = 700;
    s->r.plan = s->r.config.plan = &s->plan;
    s->r.hosts = s->hosts;
    s->r.lives.hosts = s->facts;
    s->r.lives.left = HOSTS;
    s->r.state = state;
    s->r.deadline = evtimer_new(s->base, job_round_phases_on_deadline, &s->r);
    assert_non_null(s->r.deadline);
    for (int i = 0; i < HOSTS; i++) {
        s->facts[i].life = hosts;
        s->hosts[i].facts = &s->facts[i];
    }
}

static void scene_close(struct scene *s)
{
    event_free(s->r.deadline);
    event_base_free(s->base);
}

/* Puts a run into a state and advances it. */
struct life {
    enum job_round_state state;
    enum host_life first, others; /* the first host's and the other ones' */
    bool is_awaited;              /* the first host's answer about RDMA */
    bool is_stop_wanted;
    enum job_round_state ends;
    const char *steps;
};

static const struct life lives[] = {
    /* Nothing happens until the last host has answered. */
    {JOB_ROUND_CONNECTING, HOST_OPENING, HOST_CONNECTED, false, false, JOB_ROUND_CONNECTING, ""},
    {JOB_ROUND_CONNECTING, HOST_FAILED, HOST_OPENING, false, false, JOB_ROUND_CONNECTING, ""},
    {JOB_ROUND_SURVEYING, HOST_CONNECTED, HOST_CONNECTED, true, false, JOB_ROUND_SURVEYING, ""},
    {JOB_ROUND_PREPARING, HOST_CONNECTED, HOST_PREPARED, false, false, JOB_ROUND_PREPARING, ""},
    {JOB_ROUND_RUNNING, HOST_STARTED, HOST_DONE, false, false, JOB_ROUND_RUNNING, ""},
    {JOB_ROUND_STOPPING, HOST_STARTED, HOST_DONE, false, true, JOB_ROUND_STOPPING, ""},
    {JOB_ROUND_LEAVING, HOST_DONE, HOST_GONE, false, true, JOB_ROUND_LEAVING, ""},
    {JOB_ROUND_ENDED, HOST_MISSING, HOST_GONE, false, true, JOB_ROUND_ENDED, ""},
    /* The survey is passed at once if nobody is asked; else all answers are waited for. */
    {JOB_ROUND_CONNECTING, HOST_CONNECTED, HOST_CONNECTED, false, false, JOB_ROUND_PREPARING,
     "survey prepare"},
    {JOB_ROUND_CONNECTING, HOST_CONNECTED, HOST_CONNECTED, true, false, JOB_ROUND_SURVEYING,
     "survey"},
    {JOB_ROUND_SURVEYING, HOST_CONNECTED, HOST_CONNECTED, false, false, JOB_ROUND_PREPARING,
     "prepare"},
    {JOB_ROUND_PREPARING, HOST_PREPARED, HOST_PREPARED, false, false, JOB_ROUND_RUNNING, "start"},
    /* One failed host ends the run before its start. */
    {JOB_ROUND_CONNECTING, HOST_MISSING, HOST_CONNECTED, false, false, JOB_ROUND_LEAVING, "report"},
    {JOB_ROUND_SURVEYING, HOST_FAILED, HOST_CONNECTED, true, false, JOB_ROUND_LEAVING,
     "report_rdma"},
    {JOB_ROUND_PREPARING, HOST_FAILED, HOST_PREPARED, false, false, JOB_ROUND_LEAVING, "report"},
    /* A stop ends it whatever the hosts have answered; a step may come back to the table. */
    {JOB_ROUND_CONNECTING, HOST_OPENING, HOST_OPENING, false, true, JOB_ROUND_ENDED,
     "abandon abandoned end"},
    {JOB_ROUND_SURVEYING, HOST_CONNECTED, HOST_CONNECTED, true, true, JOB_ROUND_ENDED,
     "abandon abandoned end"},
    {JOB_ROUND_SURVEYING, HOST_FAILED, HOST_CONNECTED, false, true, JOB_ROUND_ENDED,
     "abandon abandoned end"},
    {JOB_ROUND_PREPARING, HOST_PREPARED, HOST_PREPARED, false, true, JOB_ROUND_ENDED,
     "abandon abandoned end"},
    {JOB_ROUND_RUNNING, HOST_STARTED, HOST_STARTED, false, true, JOB_ROUND_STOPPING, "stop"},
    /* The end, by itself or after a stop; hosts that are gone have nothing left to end. */
    {JOB_ROUND_RUNNING, HOST_DONE, HOST_DONE, false, false, JOB_ROUND_LEAVING, "bye"},
    {JOB_ROUND_RUNNING, HOST_GONE, HOST_DONE, false, true, JOB_ROUND_LEAVING, "bye"},
    {JOB_ROUND_STOPPING, HOST_DONE, HOST_GONE, false, true, JOB_ROUND_LEAVING, "bye"},
    {JOB_ROUND_RUNNING, HOST_GONE, HOST_GONE, false, false, JOB_ROUND_ENDED, "bye end"},
    {JOB_ROUND_LEAVING, HOST_GONE, HOST_GONE, false, true, JOB_ROUND_ENDED, "end"},
};

static void test_lives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
        const struct life *l = &lives[i];
        struct scene s;

        scene_open(&s, l->state, l->others);
        s.facts[0].life = l->first;
        agents[0].is_awaited = l->is_awaited;
        s.r.stop.is_wanted = l->is_stop_wanted;
        job_round_phases_advance(&s.r);
        if (s.r.state != l->ends || strcmp(taken, l->steps) != 0)
            fail_msg("life %zu: state %d instead of %d, steps '%s' instead of '%s'", i,
                     (int)s.r.state, (int)l->ends, taken, l->steps);
        assert_false(s.r.is_advancing);
        scene_close(&s);
    }
}

/* In each state, an expired deadline does what the table says, and nothing else. */
static void test_expire(void **state)
{
    static const char *const steps[JOB_ROUND_STATES] = {
        [JOB_ROUND_STOPPING] = "give_up", [JOB_ROUND_LEAVING] = "end"};
    struct scene s;

    (void)state;
    for (int i = 0; i < JOB_ROUND_STATES; i++) {
        scene_open(&s, (enum job_round_state)i, HOST_OPENING);
        agents[0].is_awaited = true;
        job_round_phases_expire(&s.r);
        assert_string_equal(taken, steps[i] ? steps[i] : "");
        scene_close(&s);
    }
}

static void test_deadline_is_cleared(void **state)
{
    const struct timeval hour = {3600, 0};
    struct scene s;

    (void)state;
    scene_open(&s, JOB_ROUND_STOPPING, HOST_DONE);
    assert_int_equal(evtimer_add(s.r.deadline, &hour), 0);
    job_round_phases_advance(&s.r);
    assert_false(evtimer_pending(s.r.deadline, NULL));
    scene_close(&s);
}

/* A run is not given up while its output waits for a reader, unless the user is in a hurry. */
static void test_slow_reader(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, JOB_ROUND_STOPPING, HOST_STARTED);
    is_idle = false;
    job_round_phases_on_deadline(-1, 0, &s.r);
    assert_int_equal(s.r.state, JOB_ROUND_STOPPING);
    assert_int_equal(deadline_ms, JOB_ROUND_STOP_MARGIN_MS);
    s.r.stop.step = STOP_IS_HURRIED;
    job_round_phases_on_deadline(-1, 0, &s.r);
    assert_string_equal(taken, "give_up");
    scene_close(&s);
    scene_open(&s, JOB_ROUND_STOPPING, HOST_STARTED);
    job_round_phases_on_deadline(-1, 0, &s.r);
    assert_string_equal(taken, "give_up");
    scene_close(&s);
}

/* Before STOPPING a deadline is that of the hosts that have not taken the step, which have time
 * while the job pauses. */
static void test_late_hosts(void **state)
{
    static const enum job_round_state states[] = {JOB_ROUND_SURVEYING, JOB_ROUND_PREPARING,
                                                  JOB_ROUND_RUNNING};
    struct scene s;

    (void)state;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        scene_open(&s, states[i], HOST_CONNECTED);
        agents[0].is_awaited = agents[2].is_awaited = true;
        s.facts[1].life = states[i] == JOB_ROUND_RUNNING ? HOST_DONE : HOST_PREPARED;
        s.r.at.paused_ms = 1;
        job_round_phases_on_deadline(-1, 0, &s.r);
        assert_string_equal(taken, "");
        assert_int_equal(deadline_ms, JOB_ROUND_STOP_MARGIN_MS);
        s.r.at.paused_ms = 0;
        job_round_phases_on_deadline(-1, 0, &s.r);
        assert_string_equal(taken, "fail_late:0 fail_late:2");
        assert_int_equal(s.r.state, states[i]); /* the failures of the hosts end it */
        scene_close(&s);
    }
    scene_open(&s, JOB_ROUND_RUNNING, HOST_STARTED);
    is_idle = false;
    job_round_phases_on_deadline(-1, 0, &s.r);
    assert_string_equal(taken, "");
    scene_close(&s);
}

static void test_failures(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, JOB_ROUND_RUNNING, HOST_STARTED);
    job_round_phases_on_failure(&s.r); /* no one is to blame yet */
    assert_false(s.r.stop.is_wanted);
    s.r.failure.blame = BLAME_CONSEQUENCE;
    job_round_phases_on_failure(&s.r);
    assert_true(s.r.stop.is_wanted);
    assert_int_equal(s.r.stop.signal, SIGTERM);
    assert_int_equal(s.r.stop.grace_ms, 700);
    /* A second failure does not change how the run is being stopped. */
    job_round_phases_want_stop(&s.r, SIGINT, 5);
    job_round_phases_on_failure(&s.r);
    assert_int_equal(s.r.stop.signal, SIGINT);
    scene_close(&s);

    /* A run that is being stopped already, or leaves, is not stopped again. */
    scene_open(&s, JOB_ROUND_LEAVING, HOST_DONE);
    s.r.failure.blame = BLAME_CAUSE;
    job_round_phases_on_failure(&s.r);
    assert_false(s.r.stop.is_wanted);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_lives),
        cmocka_unit_test(test_expire),      cmocka_unit_test(test_deadline_is_cleared),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_late_hosts),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
