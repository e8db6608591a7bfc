/* SPDX-License-Identifier: MIT */
/* round_pause.h: pauses of a run (SIGTSTP, SIGCONT), in which the agents expect silence. */
#ifndef LAUNCHER_RUN_ROUND_ROUND_PAUSE_H
#define LAUNCHER_RUN_ROUND_ROUND_PAUSE_H

#include <event2/util.h>

struct job_round;

/* Stops the ranks and tells the agents to expect silence. on_paused is called once all agents have
 * confirmed that, or after a second. Without effect if the run is paused already. */
void round_pause_begin(struct job_round *r, void (*on_paused)(void *arg), void *arg);
void round_pause_end(struct job_round *r); /* ends a pause, if there is one */

void round_pause_check(struct job_round *r); /* after each PONG and each lost agent */
/* A timer's callback; arg: the round. */
void round_pause_on_limit(evutil_socket_t fd, short what, void *arg);

#endif
