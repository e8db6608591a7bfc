/* SPDX-License-Identifier: MIT */
/* job_round_phases.h: the life cycle of a run: what moves it on, and when it must end. */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_PHASES_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_PHASES_H

#include "launcher/run/state/job_round_state.h"

#include <event2/util.h>

enum job_round_event {
    ROUND_EVENT_NONE,
    ROUND_EVENT_READY,  /* all hosts have taken the step */
    ROUND_EVENT_FAILED, /* all hosts have answered, and some have failed */
    ROUND_EVENT_STOP,   /* the run must end */
    ROUND_EVENT_DONE,   /* nothing of the job runs on any host */
    ROUND_EVENT_GONE,   /* all channels have ended */
    ROUND_EVENT_LATE,   /* the deadline has passed */
    ROUND_EVENTS,
};

struct job_round_transition {
    enum job_round_state state;
    enum job_round_event event;
    enum job_round_state next;
    void (*action)(struct job_round *r);
};

/* The row of the table for this pair; NULL: the event does not end the state. */
const struct job_round_transition *job_round_phases_find(enum job_round_state state,
                                                         enum job_round_event event);

/* Takes the transitions that are due after a change of the round's members or of stop_wanted. */
void job_round_phases_advance(struct job_round *r);

/* Ends the present state as if its deadline had passed. */
void job_round_phases_expire(struct job_round *r);
void job_round_phases_on_deadline(evutil_socket_t fd, short what, void *arg); /* arg: the round */

/* Notes that the run must be stopped: `signal` to the ranks, SIGKILL after the grace period.
 * job_round_phases_advance() then stops it. */
void job_round_phases_want_stop(struct job_round *r, int signal, int grace_ms);

/* Call it after a failure was noted in r->failure that the other ranks cannot outlive. */
void job_round_phases_on_failure(struct job_round *r);

#endif
