/* SPDX-License-Identifier: MIT */
/* attempt_phases.h: a run's life cycle: what moves it on, and when it shall end. */
#ifndef LAUNCHER_JOB_ATTEMPT_PHASES_H
#define LAUNCHER_JOB_ATTEMPT_PHASES_H

#include "launcher/job/attempt_state.h"

#include <event2/util.h>

/* Looks whether what has just been noted moves the run on. */
void attempt_phases_advance(struct attempt *a);
/* Waits no longer for what the present state waits for. */
void attempt_phases_expire(struct attempt *a);
void attempt_phases_on_deadline(evutil_socket_t fd, short what,
                                void *arg); /* the timer's, with the attempt */

/* Notes that the run shall be stopped: `signal` to the ranks, SIGKILL after the grace. */
void attempt_phases_want_stop(struct attempt *a, int signal, int grace_ms);
/* A failure has been noted in a->failure: the run is stopped, unless the user wants the others to
 * go on (and they can); it is told as soon as it is certain. */
void attempt_phases_on_failure(struct attempt *a, bool others_may_go_on);

#endif
