/* SPDX-License-Identifier: MIT */
/* job_round_steps.h: what is done when a run goes from one state to the next
 * (job_round_phases.c). */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_STEPS_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_STEPS_H

#include "common/fault.h"

struct job_round;
struct job_round_host;
struct plan;

/* Asks the hosts for their RDMA devices, and which other devices these reach. */
void job_round_steps_survey(struct job_round *r);
void job_round_steps_prepare(struct job_round *r); /* sends each host its JOB */
void job_round_steps_start(struct job_round *r);   /* starts the ranks */
void job_round_steps_stop(struct job_round *r); /* sends STOP to the agents that still have ranks */
/* The same for one host alone, or for all: `begin` is what comes beside START. */
int job_round_steps_prepare_host(struct job_round *r, int host, struct fault *why);
/* The same for hosts that come behind those of the job; p: the plan that has them. */
int job_round_steps_prepare_new(struct job_round *r, const struct plan *p, struct fault *why);
void job_round_steps_begin(struct job_round *r);
void job_round_steps_start_host(struct job_round *r, int host);
void job_round_steps_stop_host(struct job_round *r, struct job_round_host *h);
void job_round_steps_bye(struct job_round *r);    /* nothing runs any more: lets the agents go */
void job_round_steps_report(struct job_round *r); /* before the start: prints each failed host */
void job_round_steps_report_rdma(struct job_round *r); /* the same, where RDMA is at fault */
void job_round_steps_abandon(
    struct job_round *r); /* before the start: the job is no longer wanted */
void job_round_steps_give_up(struct job_round *r); /* an agent has not ended its ranks in time */
void job_round_steps_end(struct job_round *r);     /* calls on_end */

/* The deadline of a state before STOPPING has passed, and the state depends on this host: it fails,
 * which may end the state. */
void job_round_steps_fail_late(struct job_round *r, struct job_round_host *h);

/* All ranks have ended: sets the time in which the agents must say DONE. */
void job_round_steps_await_done(struct job_round *r);

/* Sets the current state's deadline. Entering another state clears it. */
void job_round_steps_set_deadline(struct job_round *r, int ms);
/* Sets it for READY, anew while a host takes files. */
void job_round_steps_await_ready(struct job_round *r);

#endif
