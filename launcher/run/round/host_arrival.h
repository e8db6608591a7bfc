/* SPDX-License-Identifier: MIT */
/*
 * host_arrival.h: hosts that come while the ranks of others run (--elastic). r: the round; h: one
 * of its hosts.
 *
 * The place of a lost host is its index in the plan. With --restarts it is given to a spare host,
 * or to a host that joins again with its index; the ranks there are newcomers, which the others
 * take in by ml_repair:
 *
 *     GONE, MISSING ──a host is found──▶ OPENING ──▶ … PREPARED ──▶ ANNOUNCED ──START──▶ STARTED
 *      ▲                                    │ it fails: the next one is tried
 *      └────────────────────────────────────┘
 */
#ifndef LAUNCHER_RUN_ROUND_HOST_ARRIVAL_H
#define LAUNCHER_RUN_ROUND_HOST_ARRIVAL_H

#include "launcher/run/state/job_round_state.h"

/* The place is to be taken by the host that the plan has there: opens a channel after `ms`, and
 * outside of the callbacks of one that has ended. False: out of memory. */
bool host_arrival_set(struct job_round *r, struct job_round_host *h, int ms);
/* The place is that of `host` from now on, which is on its way; `placed` others had it before. What
 * was there is freed, but its channel. */
void host_arrival_expect(struct job_round *r, struct job_round_host *h, const struct host *host,
                         int placed);
/* It has said HELLO: it gets the job, with backend rdma once it has said which RDMA devices it has,
 * and these are what the others are wired to. */
int host_arrival_on_hello(struct job_round *r, struct job_round_host *h, struct fault *why);
/* With --stage-env: begins the host's copy, which it gets by the rest of the frames. */
int host_arrival_copy(struct job_round *r, struct job_round_host *h, struct fault *why);
/* It is ready, and there is a coordinator: its ranks are started once the agents of the other hosts
 * know them, and have the wiring. */
void host_arrival_announce(struct job_round *r, struct job_round_host *h);
/* WIRED, that host's agent has it; as a handler of frames. */
int host_arrival_on_wired(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why);
/* A host is waited for no longer. */
void host_arrival_start(struct job_round *r);
/* Whether all agents that have a say know the rank. */
bool host_arrival_know(const struct job_round *r, int rank);
/* Tells an agent which host `host` of the plan is, and how all are wired, unless that is NULL. */
void host_arrival_tell(struct job_round *r, struct job_round_host *to, int host, json_t *wiring);

#endif
