/* SPDX-License-Identifier: MIT */
/*
 * job_round_hosts.h: hosts that are lost or come while the ranks of others run (--elastic), and
 * where the coordinator is. r: the round; m: one of its hosts.
 *
 * The place of a lost host is its index in the plan. With --restarts it is given to a spare host,
 * or to a host that joins again with its index; the ranks there are newcomers, which the others
 * take in by ml_repair:
 *
 *     STARTED ──lost──▶ GONE ──a host is found──▶ OPENING ──▶ … ──START──▶ STARTED
 *                        ▲                           │ it fails: the next one is tried
 *                        └───────────────────────────┘
 */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_HOSTS_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_HOSTS_H

#include "launcher/run/round/job_round_state.h"

#include <event2/util.h>

/* A host is lost whose ranks the others can do without; perhaps it was given up before. */
void job_round_hosts_lose(struct job_round *r, struct job_round_member *m, const char *text);

/* The host's agent works, and its ranks are no members any more: they are killed, or if it is
 * leaving, it ends them with the grace. */
void job_round_hosts_give_up(struct job_round *r, struct job_round_member *m, const char *text,
                             bool is_leaving);

/* The host's agent takes copies of what ranks keep at this address; or not any more (""). Tells
 * those whose ranks copy to another host now. */
void job_round_hosts_keep(struct job_round *r, const struct job_round_member *m,
                          const char *address);

/* The host's agent is DONE. If it was to have the next coordinator, it has not done so. */
void job_round_hosts_done(struct job_round *r, struct job_round_member *m);

/* The host's agent has lost the coordinator. mlaunch learns of the death of the coordinator's host
 * within its own time of silence; which of the two hosts is to go is decided after that. */
void job_round_hosts_cut_off(struct job_round *r, struct job_round_member *m,
                             const struct lost_report *lost);
void job_round_hosts_on_cut_limit(evutil_socket_t fd, short what, void *arg);

/* UNREACHED: a rank on one host does not reach one on another. If neither host is lost within
 * mlaunch's own time of silence, and the members are the same then, one of them is given up. As a
 * handler of frames. */
int job_round_hosts_on_unreached(struct job_round *r, struct job_round_member *m,
                                 const struct frame *f, struct fault *why);
void job_round_hosts_on_broken_limit(evutil_socket_t fd, short what, void *arg);

/* The member is `host` from now on, which is on its way; `placed` others had its place before. What
 * it had is freed, but its channel. */
void job_round_hosts_expect(struct job_round *r, struct job_round_member *m,
                            const struct host *host, int placed);
/* Connects to host `host` of the plan while the others run; nothing runs there, and the channel
 * that it had has ended. Its ranks that have not ended are started as newcomers: `is_coming`, and
 * `restarts` is the number of the process, from 1 on. A failure is reported by on_end. */
void job_round_hosts_open(struct job_round *r, int host);
/* A host that comes has said HELLO: it gets the job, with backend rdma once it has said which RDMA
 * devices it has, and these are what the others are wired to. */
int job_round_hosts_on_hello(struct job_round *r, struct job_round_member *m, struct fault *why);
/* With --stage-env: begins the host's copy, which it gets by the rest of the frames. */
int job_round_hosts_copy(struct job_round *r, struct job_round_member *m, struct fault *why);
/* A host that comes is ready: starts its ranks, once there is a coordinator, and the agents of the
 * other hosts know them, and have the wiring. */
void job_round_hosts_on_ready(struct job_round *r, struct job_round_member *m);
/* WIRED, that host's agent has it; as a handler of frames. */
int job_round_hosts_on_wired(struct job_round *r, struct job_round_member *m, const struct frame *f,
                             struct fault *why);
/* A host is waited for no longer. */
void job_round_hosts_start(struct job_round *r);
/* Whether all agents that have a say know the rank. */
bool job_round_hosts_know(const struct job_round *r, int rank);
/* Tells an agent which host `host` of the plan is, and how all are wired, unless that is NULL. */
void job_round_hosts_tell(struct job_round *r, struct job_round_member *to, int host,
                          json_t *wiring);
/* The channel to a host that comes, or that has been given up, has ended in state `before`, while
 * the others run. */
void job_round_hosts_on_end(struct job_round *r, struct job_round_member *m,
                            enum job_round_member_state before, const char *text);

/* COORDINATES from the next coordinator's host; as a handler of frames. */
int job_round_hosts_on_coordinates(struct job_round *r, struct job_round_member *m,
                                   const struct frame *f, struct fault *why);

#endif
