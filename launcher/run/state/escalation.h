/* SPDX-License-Identifier: MIT */
/*
 * escalation.h: the signals that the ranks of a run get until they end
 * (launcher/agent/run/ranks_stop.h draws them): the agents send them, this file tells the user
 * when.
 */
#ifndef LAUNCHER_RUN_STATE_ESCALATION_H
#define LAUNCHER_RUN_STATE_ESCALATION_H

#include "launcher/run/state/job_round_config.h"
#include <event2/util.h>

#include <stddef.h>

struct job_round;

enum { ESCALATION_RANKS = 400 };

/* Stores which ranks have not ended: "rank 1 on host b", "ranks 0,2-7". Returns how many; 0: none,
 * or none was started. */
int escalation_ranks(const struct job_round *r, char out[ESCALATION_RANKS]);

/* Call it when STOP has been sent. Each later signal is then reported when it is sent, with
 * the ranks that still ran. */
void escalation_start(struct job_round *r);
void escalation_on_step(evutil_socket_t fd, short what, void *arg); /* arg: the round */

/* Stores what the ranks still have to expect: "SIGTERM in 2.5 s, SIGKILL in 5 s; --grace changes
 * that". "": the run is not being stopped, or no further signal will come. */
void escalation_describe(const struct job_round *r, char *out, size_t size);

/* mlaunch's exit status after a run was ended for this cause; signal: for STOP_SIGNAL. */
int escalation_status(enum stop_cause cause, int signal);

#endif
