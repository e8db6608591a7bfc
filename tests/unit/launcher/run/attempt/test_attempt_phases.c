/* SPDX-License-Identifier: MIT */
/*
 * test_attempt_phases.c: the life cycle of a run. The table is compared with what is expected of
 * each pair of a state and an event; then runs are put into every state with members of every kind,
 * and must take the transition that their members call for. The steps themselves are replaced by
 * ones that only note that they were taken.
 */
#include "launcher/run/attempt/attempt_phases.h"

#include "launcher/run/attempt/attempt_steps.h"
#include "launcher/run/stdio/output.h"

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

void attempt_steps_look(struct attempt *a)
{
    (void)a;
    note("look");
}

void attempt_steps_try(struct attempt *a)
{
    (void)a;
    note("try");
}

void attempt_steps_prepare(struct attempt *a)
{
    (void)a;
    note("prepare");
}

void attempt_steps_start(struct attempt *a)
{
    note("start");
    for (int i = 0; i < HOSTS; i++)
        a->members[i].state = MEMBER_STARTED;
}

void attempt_steps_stop(struct attempt *a)
{
    (void)a;
    note("stop");
}

void attempt_steps_bye(struct attempt *a)
{
    (void)a;
    note("bye");
}

void attempt_steps_report(struct attempt *a)
{
    (void)a;
    note("report");
}

void attempt_steps_report_rdma(struct attempt *a)
{
    (void)a;
    note("report_rdma");
}

/* As a send may that finds its channel closed: it leads back to attempt_phases_advance(). */
void attempt_steps_abandon(struct attempt *a)
{
    note("abandon");
    for (int i = 0; i < HOSTS; i++)
        a->members[i].state = MEMBER_GONE;
    attempt_phases_advance(a);
    note("abandoned");
}

void attempt_steps_give_up(struct attempt *a)
{
    (void)a;
    note("give_up");
}

void attempt_steps_fail_late(struct attempt *a, struct attempt_member *m)
{
    char step[32];

    snprintf(step, sizeof(step), "fail_late:%d", (int)(m - a->members));
    note(step);
}

void attempt_steps_end(struct attempt *a)
{
    (void)a;
    note("end");
}

void attempt_steps_set_deadline(struct attempt *a, int ms)
{
    (void)a;
    deadline_ms = ms;
}

/* The output, too: it is idle or not. */
static bool is_idle;

bool output_is_idle(struct output *o)
{
    (void)o;
    return is_idle;
}

/* What is expected of each pair. */
struct expected {
    enum { UNDEFINED, STAYS, GOES } what;
    enum attempt_state next;
    void (*action)(struct attempt *a);
};

#define STAY                                                                                       \
    {                                                                                              \
        STAYS, 0, NULL                                                                             \
    }
#define GO(next, step)                                                                             \
    {                                                                                              \
        GOES, ATTEMPT_##next, attempt_steps_##step                                                 \
    }

static const struct expected expected[ATTEMPT_STATES][ATTEMPT_EVENTS] = {
    [ATTEMPT_CONNECTING] = {[ATTEMPT_NOTHING] = STAY,
                            [ATTEMPT_WELL] = GO(LOOKING, look),
                            [ATTEMPT_BADLY] = GO(LEAVING, report),
                            [ATTEMPT_STOP] = GO(LEAVING, abandon),
                            [ATTEMPT_DONE] = STAY,
                            [ATTEMPT_GONE] = STAY,
                            [ATTEMPT_LATE] = STAY},
    [ATTEMPT_LOOKING] = {[ATTEMPT_NOTHING] = STAY,
                         [ATTEMPT_WELL] = GO(TRYING, try),
                         [ATTEMPT_BADLY] = GO(LEAVING, report_rdma),
                         [ATTEMPT_STOP] = GO(LEAVING, abandon),
                         [ATTEMPT_DONE] = STAY,
                         [ATTEMPT_GONE] = STAY,
                         [ATTEMPT_LATE] = STAY},
    [ATTEMPT_TRYING] = {[ATTEMPT_NOTHING] = STAY,
                        [ATTEMPT_WELL] = GO(PREPARING, prepare),
                        [ATTEMPT_BADLY] = GO(LEAVING, report_rdma),
                        [ATTEMPT_STOP] = GO(LEAVING, abandon),
                        [ATTEMPT_DONE] = STAY,
                        [ATTEMPT_GONE] = STAY,
                        [ATTEMPT_LATE] = STAY},
    [ATTEMPT_PREPARING] = {[ATTEMPT_NOTHING] = STAY,
                           [ATTEMPT_WELL] = GO(RUNNING, start),
                           [ATTEMPT_BADLY] = GO(LEAVING, report),
                           [ATTEMPT_STOP] = GO(LEAVING, abandon),
                           [ATTEMPT_DONE] = STAY,
                           [ATTEMPT_GONE] = STAY,
                           [ATTEMPT_LATE] = STAY},
    [ATTEMPT_RUNNING] = {[ATTEMPT_NOTHING] = STAY,
                         [ATTEMPT_WELL] = STAY,
                         [ATTEMPT_BADLY] = STAY,
                         [ATTEMPT_STOP] = GO(STOPPING, stop),
                         [ATTEMPT_DONE] = GO(LEAVING, bye),
                         [ATTEMPT_GONE] = STAY,
                         [ATTEMPT_LATE] = STAY},
    [ATTEMPT_STOPPING] = {[ATTEMPT_NOTHING] = STAY,
                          [ATTEMPT_WELL] = STAY,
                          [ATTEMPT_BADLY] = STAY,
                          [ATTEMPT_STOP] = STAY,
                          [ATTEMPT_DONE] = GO(LEAVING, bye),
                          [ATTEMPT_GONE] = STAY,
                          [ATTEMPT_LATE] = GO(LEAVING, give_up)},
    [ATTEMPT_LEAVING] = {[ATTEMPT_NOTHING] = STAY,
                         [ATTEMPT_WELL] = STAY,
                         [ATTEMPT_BADLY] = STAY,
                         [ATTEMPT_STOP] = STAY,
                         [ATTEMPT_DONE] = STAY,
                         [ATTEMPT_GONE] = GO(ENDED, end),
                         [ATTEMPT_LATE] = GO(ENDED, end)},
    [ATTEMPT_ENDED] = {[ATTEMPT_NOTHING] = STAY,
                       [ATTEMPT_WELL] = STAY,
                       [ATTEMPT_BADLY] = STAY,
                       [ATTEMPT_STOP] = STAY,
                       [ATTEMPT_DONE] = STAY,
                       [ATTEMPT_GONE] = STAY,
                       [ATTEMPT_LATE] = STAY},
};

static void test_table(void **state)
{
    (void)state;
    for (int s = 0; s < ATTEMPT_STATES; s++) {
        for (int e = 0; e < ATTEMPT_EVENTS; e++) {
            const struct expected *x = &expected[s][e];
            const struct attempt_transition *t =
                attempt_phases_find((enum attempt_state)s, (enum attempt_event)e);

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
    struct plan plan;
    struct attempt_member members[HOSTS];
    struct attempt a;
};

static void scene_open(struct scene *s, enum attempt_state state, enum attempt_member_state members)
{
    memset(s, 0, sizeof(*s));
    taken[0] = '\0';
    deadline_ms = 0;
    is_idle = true;
    s->base = event_base_new();
    s->plan.host_count = HOSTS;
    s->plan.size = HOSTS;
    s->plan.grace_ms = 700;
    s->a.plan = s->a.config.plan = &s->plan;
    s->a.members = s->members;
    s->a.state = state;
    s->a.ranks_left = HOSTS;
    s->a.deadline = evtimer_new(s->base, attempt_phases_on_deadline, &s->a);
    assert_non_null(s->a.deadline);
    for (int i = 0; i < HOSTS; i++)
        s->members[i].state = members;
}

static void scene_close(struct scene *s)
{
    event_free(s->a.deadline);
    event_base_free(s->base);
}

/* Puts a run into a state and advances it. */
struct life {
    enum attempt_state state;
    enum attempt_member_state first, others; /* of the first host and of the other ones */
    int rounds;                              /* that the first host has answered; -1: no survey */
    bool first_failed, stop_wanted;
    enum attempt_state ends;
    const char *steps;
};

static const struct life lives[] = {
    /* Nothing happens until the last host has answered. */
    {ATTEMPT_CONNECTING, MEMBER_OPENING, MEMBER_CONNECTED, -1, false, false, ATTEMPT_CONNECTING,
     ""},
    {ATTEMPT_CONNECTING, MEMBER_CONNECTED, MEMBER_OPENING, -1, true, false, ATTEMPT_CONNECTING, ""},
    {ATTEMPT_LOOKING, MEMBER_CONNECTED, MEMBER_CONNECTED, 0, false, false, ATTEMPT_LOOKING, ""},
    {ATTEMPT_TRYING, MEMBER_CONNECTED, MEMBER_CONNECTED, 1, false, false, ATTEMPT_TRYING, ""},
    {ATTEMPT_PREPARING, MEMBER_CONNECTED, MEMBER_PREPARED, -1, false, false, ATTEMPT_PREPARING, ""},
    {ATTEMPT_RUNNING, MEMBER_STARTED, MEMBER_DONE, -1, false, false, ATTEMPT_RUNNING, ""},
    {ATTEMPT_STOPPING, MEMBER_STARTED, MEMBER_DONE, -1, false, true, ATTEMPT_STOPPING, ""},
    {ATTEMPT_LEAVING, MEMBER_DONE, MEMBER_GONE, -1, false, true, ATTEMPT_LEAVING, ""},
    {ATTEMPT_ENDED, MEMBER_GONE, MEMBER_GONE, -1, true, true, ATTEMPT_ENDED, ""},
    /* The survey is passed at once if there is none; else each of its rounds is waited for. */
    {ATTEMPT_CONNECTING, MEMBER_CONNECTED, MEMBER_CONNECTED, -1, false, false, ATTEMPT_PREPARING,
     "look try prepare"},
    {ATTEMPT_CONNECTING, MEMBER_CONNECTED, MEMBER_CONNECTED, 0, false, false, ATTEMPT_LOOKING,
     "look"},
    {ATTEMPT_LOOKING, MEMBER_CONNECTED, MEMBER_CONNECTED, 1, false, false, ATTEMPT_TRYING, "try"},
    {ATTEMPT_TRYING, MEMBER_CONNECTED, MEMBER_CONNECTED, 2, false, false, ATTEMPT_PREPARING,
     "prepare"},
    {ATTEMPT_PREPARING, MEMBER_PREPARED, MEMBER_PREPARED, -1, false, false, ATTEMPT_RUNNING,
     "start"},
    /* One failed host ends the run before its start. */
    {ATTEMPT_CONNECTING, MEMBER_GONE, MEMBER_CONNECTED, -1, true, false, ATTEMPT_LEAVING, "report"},
    {ATTEMPT_LOOKING, MEMBER_CONNECTED, MEMBER_CONNECTED, 0, true, false, ATTEMPT_LEAVING,
     "report_rdma"},
    {ATTEMPT_TRYING, MEMBER_CONNECTED, MEMBER_CONNECTED, 1, true, false, ATTEMPT_LEAVING,
     "report_rdma"},
    {ATTEMPT_PREPARING, MEMBER_CONNECTED, MEMBER_PREPARED, -1, true, false, ATTEMPT_LEAVING,
     "report"},
    /* A stop ends it whatever the hosts have answered; a step may come back to the table. */
    {ATTEMPT_CONNECTING, MEMBER_OPENING, MEMBER_OPENING, -1, false, true, ATTEMPT_ENDED,
     "abandon abandoned end"},
    {ATTEMPT_LOOKING, MEMBER_CONNECTED, MEMBER_CONNECTED, 1, false, true, ATTEMPT_ENDED,
     "abandon abandoned end"},
    {ATTEMPT_TRYING, MEMBER_CONNECTED, MEMBER_CONNECTED, 1, true, true, ATTEMPT_ENDED,
     "abandon abandoned end"},
    {ATTEMPT_PREPARING, MEMBER_PREPARED, MEMBER_PREPARED, -1, false, true, ATTEMPT_ENDED,
     "abandon abandoned end"},
    {ATTEMPT_RUNNING, MEMBER_STARTED, MEMBER_STARTED, -1, false, true, ATTEMPT_STOPPING, "stop"},
    /* The end, by itself or after a stop; hosts that are gone have nothing left to end. */
    {ATTEMPT_RUNNING, MEMBER_DONE, MEMBER_DONE, -1, false, false, ATTEMPT_LEAVING, "bye"},
    {ATTEMPT_RUNNING, MEMBER_GONE, MEMBER_DONE, -1, false, true, ATTEMPT_LEAVING, "bye"},
    {ATTEMPT_STOPPING, MEMBER_DONE, MEMBER_GONE, -1, false, true, ATTEMPT_LEAVING, "bye"},
    {ATTEMPT_RUNNING, MEMBER_GONE, MEMBER_GONE, -1, false, false, ATTEMPT_ENDED, "bye end"},
    {ATTEMPT_LEAVING, MEMBER_GONE, MEMBER_GONE, -1, false, true, ATTEMPT_ENDED, "end"},
};

static void test_lives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
        const struct life *l = &lives[i];
        struct scene s;

        scene_open(&s, l->state, l->others);
        s.members[0].state = l->first;
        s.members[0].failed = l->first_failed;
        s.members[0].rounds = l->rounds;
        s.members[1].rounds = s.members[2].rounds = 2;
        s.a.survey = l->rounds < 0 ? NULL : (struct wiring_survey *)&s; /* only looked for */
        s.a.stop_wanted = l->stop_wanted;
        attempt_phases_advance(&s.a);
        if (s.a.state != l->ends || strcmp(taken, l->steps) != 0)
            fail_msg("life %zu: state %d instead of %d, steps '%s' instead of '%s'", i,
                     (int)s.a.state, (int)l->ends, taken, l->steps);
        assert_false(s.a.is_advancing);
        scene_close(&s);
    }
}

/* In each state, an expired deadline does what the table says, and nothing else. */
static void test_expire(void **state)
{
    static const char *const steps[ATTEMPT_STATES] = {
        [ATTEMPT_STOPPING] = "give_up", [ATTEMPT_LEAVING] = "end"};
    struct scene s;

    (void)state;
    for (int i = 0; i < ATTEMPT_STATES; i++) {
        scene_open(&s, (enum attempt_state)i, MEMBER_OPENING);
        s.a.survey = (struct wiring_survey *)&s; /* never answered */
        attempt_phases_expire(&s.a);
        assert_string_equal(taken, steps[i] ? steps[i] : "");
        scene_close(&s);
    }
}

static void test_deadline_is_cleared(void **state)
{
    const struct timeval hour = {3600, 0};
    struct scene s;

    (void)state;
    scene_open(&s, ATTEMPT_STOPPING, MEMBER_DONE);
    assert_int_equal(evtimer_add(s.a.deadline, &hour), 0);
    attempt_phases_advance(&s.a);
    assert_false(evtimer_pending(s.a.deadline, NULL));
    scene_close(&s);
}

/* A run is not given up while its output waits for a reader, unless the user is in a hurry. */
static void test_slow_reader(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, ATTEMPT_STOPPING, MEMBER_STARTED);
    is_idle = false;
    attempt_phases_on_deadline(-1, 0, &s.a);
    assert_int_equal(s.a.state, ATTEMPT_STOPPING);
    assert_int_equal(deadline_ms, ATTEMPT_STOP_MARGIN_MS);
    s.a.is_hurried = true;
    attempt_phases_on_deadline(-1, 0, &s.a);
    assert_string_equal(taken, "give_up");
    scene_close(&s);
    scene_open(&s, ATTEMPT_STOPPING, MEMBER_STARTED);
    attempt_phases_on_deadline(-1, 0, &s.a);
    assert_string_equal(taken, "give_up");
    scene_close(&s);
}

/* Before STOPPING a deadline is that of the hosts that have not taken the step, which have time
 * while the job pauses. */
static void test_late_hosts(void **state)
{
    static const enum attempt_state states[] = {ATTEMPT_LOOKING, ATTEMPT_TRYING, ATTEMPT_PREPARING,
                                                ATTEMPT_RUNNING};
    struct scene s;

    (void)state;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        scene_open(&s, states[i], MEMBER_CONNECTED);
        s.a.survey = (struct wiring_survey *)&s; /* it is only not NULL */
        s.a.members[1].rounds = states[i] == ATTEMPT_LOOKING ? 1 : 2;
        s.a.members[1].state = states[i] == ATTEMPT_RUNNING ? MEMBER_DONE : MEMBER_PREPARED;
        s.a.paused = true;
        attempt_phases_on_deadline(-1, 0, &s.a);
        assert_string_equal(taken, "");
        assert_int_equal(deadline_ms, ATTEMPT_STOP_MARGIN_MS);
        s.a.paused = false;
        attempt_phases_on_deadline(-1, 0, &s.a);
        assert_string_equal(taken, "fail_late:0 fail_late:2");
        assert_int_equal(s.a.state, states[i]); /* the failures of the hosts end it */
        scene_close(&s);
    }
    scene_open(&s, ATTEMPT_RUNNING, MEMBER_STARTED);
    is_idle = false;
    attempt_phases_on_deadline(-1, 0, &s.a);
    assert_string_equal(taken, "");
    scene_close(&s);
}

static void test_failures(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, ATTEMPT_RUNNING, MEMBER_STARTED);
    attempt_phases_on_failure(&s.a, true); /* no one is to blame yet */
    assert_false(s.a.stop_wanted);
    s.a.failure.blame = BLAME_CONSEQUENCE;
    attempt_phases_on_failure(&s.a, true);
    assert_true(s.a.stop_wanted);
    assert_int_equal(s.a.stop_signal, SIGTERM);
    assert_int_equal(s.a.stop_grace_ms, 700);
    /* A second failure does not change how the run is being stopped. */
    attempt_phases_want_stop(&s.a, SIGINT, 5);
    attempt_phases_on_failure(&s.a, true);
    assert_int_equal(s.a.stop_signal, SIGINT);
    scene_close(&s);

    /* --continue-on-failure: only if the others can go on. */
    scene_open(&s, ATTEMPT_RUNNING, MEMBER_STARTED);
    s.plan.continue_on_failure = true;
    s.a.failure.blame = BLAME_CAUSE;
    attempt_phases_on_failure(&s.a, true);
    assert_false(s.a.stop_wanted);
    attempt_phases_on_failure(&s.a, false);
    assert_true(s.a.stop_wanted);
    scene_close(&s);

    /* A run that is being stopped already, or leaves, is not stopped again. */
    scene_open(&s, ATTEMPT_LEAVING, MEMBER_DONE);
    s.a.failure.blame = BLAME_CAUSE;
    attempt_phases_on_failure(&s.a, false);
    assert_false(s.a.stop_wanted);
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
