/* SPDX-License-Identifier: MIT */
/* attempt_steps.h: what is done when a run goes from one state to the next (attempt_phases.c). */
#ifndef LAUNCHER_RUN_ATTEMPT_ATTEMPT_STEPS_H
#define LAUNCHER_RUN_ATTEMPT_ATTEMPT_STEPS_H

#include <stdbool.h>

struct attempt;
struct attempt_member;

void attempt_steps_look(struct attempt *a);    /* asks the hosts for their RDMA devices */
void attempt_steps_try(struct attempt *a);     /* asks them which other devices these reach */
void attempt_steps_prepare(struct attempt *a); /* sends each host its JOB */
void attempt_steps_start(struct attempt *a);   /* starts the ranks */
void attempt_steps_stop(struct attempt *a);    /* sends STOP to the agents that still have ranks */
void attempt_steps_bye(struct attempt *a);     /* nothing runs any more: lets the agents go */
void attempt_steps_report(struct attempt *a);  /* before the start: prints each failed host */
void attempt_steps_report_rdma(struct attempt *a); /* the same, where RDMA is at fault */
void attempt_steps_abandon(struct attempt *a); /* before the start: the job is no longer wanted */
void attempt_steps_give_up(struct attempt *a); /* an agent has not ended its ranks in time */
void attempt_steps_end(struct attempt *a);     /* calls on_end */

/* The deadline of a state before STOPPING has passed, and the state depends on this host: it fails,
 * which may end the state. */
void attempt_steps_fail_late(struct attempt *a, struct attempt_member *m);

/* All ranks have ended: sets the time in which the agents must say DONE. */
void attempt_steps_await_done(struct attempt *a);

/* How long beyond the grace period an agent may take to report that its ranks have ended. */
enum { ATTEMPT_STOP_MARGIN_MS = 10000 };

/* Sets the current state's deadline. Entering another state clears it. */
void attempt_steps_set_deadline(struct attempt *a, int ms);
/* Sets it for READY, anew while a host takes files. */
void attempt_steps_await_ready(struct attempt *a);

#endif
