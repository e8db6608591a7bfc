/* SPDX-License-Identifier: MIT */
/* heartbeat.h: heartbeats, and the pauses (SIGTSTP, SIGCONT) that suspend them. */
#ifndef LAUNCHER_RUN_ROUND_HEARTBEAT_H
#define LAUNCHER_RUN_ROUND_HEARTBEAT_H

#include <event2/util.h>

struct job_round;
struct job_round_member;

/* Stops the ranks and tells the agents to expect silence. on_paused is called once all agents have
 * confirmed that, or after a second. Without effect if the run is paused already. */
void heartbeat_pause(struct job_round *r, void (*on_paused)(void *arg), void *arg);
void heartbeat_resume(struct job_round *r); /* ends a pause, if there is one */

/* Restarts the clocks that watch for silent agents, after mlaunch itself could not listen. */
void heartbeat_reset_silence(struct job_round *r);

/* Asks the agent for its time, if the times of its ranks' calls are wanted. */
void heartbeat_ask_time(const struct job_round *r, struct job_round_member *m);

void heartbeat_check_paused(struct job_round *r); /* after each PONG and each lost agent */

/* Timers' callbacks; arg: the round. */
void heartbeat_on_timer(evutil_socket_t fd, short what, void *arg);
void heartbeat_on_pause_limit(evutil_socket_t fd, short what, void *arg);

#endif
