/* SPDX-License-Identifier: MIT */
/* round_pause.h: pauses of a run (SIGTSTP, SIGCONT), in which the agents expect silence. */
#ifndef LAUNCHER_RUN_STATE_ROUND_PAUSE_H
#define LAUNCHER_RUN_STATE_ROUND_PAUSE_H

#include <stdbool.h>

struct job_round;
struct job_round_host;

/* Stops the ranks and tells the agents to expect silence. on_paused is called once all agents have
 * confirmed that, or after a second. Without effect if the run is paused already. */
void round_pause_begin(struct job_round *r, void (*on_paused)(void *arg), void *arg);
/* Ends a pause, if there is one. It does not count against any limit of time. */
void round_pause_end(struct job_round *r);

/* A channel has ended before HELLO. True: a pause came in between, by which any limit of time may
 * have passed, and the channel is opened once more. */
bool round_pause_opens_again(struct job_round *r, struct job_round_host *h);

#endif
