/* SPDX-License-Identifier: MIT */
/* attempt_phases.h: the life cycle of a run: what moves it on, and when it must end. */
#ifndef LAUNCHER_RUN_ATTEMPT_ATTEMPT_PHASES_H
#define LAUNCHER_RUN_ATTEMPT_ATTEMPT_PHASES_H

#include "launcher/run/attempt/attempt_state.h"

#include <event2/util.h>

enum attempt_event {
    ATTEMPT_NOTHING,
    ATTEMPT_WELL,  /* all hosts have taken the step */
    ATTEMPT_BADLY, /* all hosts have answered, and some have failed */
    ATTEMPT_STOP,  /* the run must end */
    ATTEMPT_DONE,  /* nothing of the job runs on any host */
    ATTEMPT_GONE,  /* all channels have ended */
    ATTEMPT_LATE,  /* the deadline has passed */
    ATTEMPT_EVENTS,
};

struct attempt_transition {
    enum attempt_state state;
    enum attempt_event event;
    enum attempt_state next;
    void (*action)(struct attempt *a);
};

/* The row of the table for this pair; NULL: the event does not end the state. */
const struct attempt_transition *attempt_phases_find(enum attempt_state state,
                                                     enum attempt_event event);

/* Takes the transitions that are due after a change of the attempt's members or of stop_wanted. */
void attempt_phases_advance(struct attempt *a);

/* Ends the present state as if its deadline had passed. */
void attempt_phases_expire(struct attempt *a);
void attempt_phases_on_deadline(evutil_socket_t fd, short what, void *arg); /* arg: the attempt */

/* Notes that the run must be stopped: `signal` to the ranks, SIGKILL after the grace period.
 * attempt_phases_advance() then stops it. */
void attempt_phases_want_stop(struct attempt *a, int signal, int grace_ms);

/* To be called after a failure was noted in a->failure. Asks for the stop of the run, unless the
 * user wants the other ranks to go on and `others_may_go_on`. */
void attempt_phases_on_failure(struct attempt *a, bool others_may_go_on);

#endif
