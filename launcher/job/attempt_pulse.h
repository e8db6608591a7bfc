/* SPDX-License-Identifier: MIT */
/* attempt_pulse.h: heartbeats, and the pauses (SIGTSTP, SIGCONT) that suspend them. */
#ifndef LAUNCHER_JOB_ATTEMPT_PULSE_H
#define LAUNCHER_JOB_ATTEMPT_PULSE_H

#include "launcher/job/attempt_state.h"

#include <event2/util.h>

/* Timers' callbacks, with the attempt as `arg`; and after each PONG. */
void attempt_pulse_on_heartbeat(evutil_socket_t fd, short what, void *arg);
void attempt_pulse_on_pause_limit(evutil_socket_t fd, short what, void *arg);
void attempt_pulse_check_paused(struct attempt *a);

#endif
