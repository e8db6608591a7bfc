/* SPDX-License-Identifier: MIT */
/*
 * attempt_ladder.h: the signals that the ranks of a run get until they end (launcher/agent/stop.h
 * draws them): the agents send them, this file tells the user when.
 */
#ifndef LAUNCHER_RUN_ATTEMPT_ATTEMPT_LADDER_H
#define LAUNCHER_RUN_ATTEMPT_ATTEMPT_LADDER_H

#include <event2/util.h>

#include <stddef.h>

struct attempt;

enum { ATTEMPT_LADDER_RANKS = 400 };

/* Stores which ranks have not ended: "rank 1 on host b", "ranks 0,2-7". Returns how many; 0: none,
 * or none was started. */
int attempt_ladder_ranks(const struct attempt *a, char out[ATTEMPT_LADDER_RANKS]);

/* To be called when STOP has been sent. Each later signal is then reported when it is sent, with
 * the ranks that still ran. */
void attempt_ladder_start(struct attempt *a);
void attempt_ladder_on_step(evutil_socket_t fd, short what, void *arg); /* arg: the attempt */

/* Stores what the ranks still have to expect: "SIGTERM in 2.5 s, SIGKILL in 5 s; --grace changes
 * that". "": the run is not being stopped, or no further signal will come. */
void attempt_ladder_describe(const struct attempt *a, char *out, size_t size);

#endif
