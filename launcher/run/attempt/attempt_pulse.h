/* SPDX-License-Identifier: MIT */
/* attempt_pulse.h: heartbeats, and the pauses (SIGTSTP, SIGCONT) that suspend them. */
#ifndef LAUNCHER_RUN_ATTEMPT_ATTEMPT_PULSE_H
#define LAUNCHER_RUN_ATTEMPT_ATTEMPT_PULSE_H

#include <event2/util.h>

struct attempt;
struct attempt_member;

/* Stops the ranks and tells the agents to expect silence. on_paused is called once all agents have
 * confirmed that, or after a second. Without effect if the run is paused already. */
void attempt_pulse_pause(struct attempt *a, void (*on_paused)(void *arg), void *arg);
void attempt_pulse_resume(struct attempt *a); /* ends a pause, if there is one */

/* Restarts the clocks that watch for silent agents, after mlaunch itself could not listen. */
void attempt_pulse_reset_silence(struct attempt *a);

/* Asks the agent for its time, if the times of its ranks' calls are wanted. */
void attempt_pulse_ask_time(const struct attempt *a, struct attempt_member *m);

void attempt_pulse_check_paused(struct attempt *a); /* after each PONG and each lost agent */

/* Timers' callbacks; arg: the attempt. */
void attempt_pulse_on_heartbeat(evutil_socket_t fd, short what, void *arg);
void attempt_pulse_on_pause_limit(evutil_socket_t fd, short what, void *arg);

#endif
