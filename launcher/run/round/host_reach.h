/* SPDX-License-Identifier: MIT */
/*
 * host_reach.h: hosts whose agents mlaunch hears, and that do not reach the coordinator, or each
 * other (--elastic): who of them is given up, and when. r: the round; h: one of its hosts.
 */
#ifndef LAUNCHER_RUN_ROUND_HOST_REACH_H
#define LAUNCHER_RUN_ROUND_HOST_REACH_H

#include "launcher/run/state/job_round_state.h"

#include <event2/util.h>

/* The host's agent has lost the coordinator. mlaunch learns of the death of the coordinator's host
 * within its own time of silence; which of the two hosts is to go is decided after that. */
void host_reach_cut_off(struct job_round *r, struct job_round_host *h,
                        const struct lost_report *lost);
void host_reach_on_cut_limit(evutil_socket_t fd, short what, void *arg);

/* UNREACHED: a rank on one host does not reach one on another. If neither host is lost within
 * mlaunch's own time of silence, and the members are the same then, one of them is given up. As a
 * handler of frames. */
int host_reach_on_unreached(struct job_round *r, struct job_round_host *h, const struct frame *f,
                            struct fault *why);
void host_reach_on_broken_limit(evutil_socket_t fd, short what, void *arg);

#endif
