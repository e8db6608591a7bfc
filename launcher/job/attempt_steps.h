/* SPDX-License-Identifier: MIT */
/* attempt_steps.h: what the table in attempt_phases.c does when a run goes from one state to the next. */
#ifndef LAUNCHER_JOB_ATTEMPT_STEPS_H
#define LAUNCHER_JOB_ATTEMPT_STEPS_H

#include "launcher/job/attempt_state.h"

void attempt_steps_look(struct attempt *a); /* all hosts are there: what devices have they? */
void attempt_steps_try(struct attempt *a);  /* and whom do these reach? */
void attempt_steps_prepare(struct attempt *a);
void attempt_steps_start(struct attempt *a);
void attempt_steps_stop(struct attempt *a);
void attempt_steps_bye(struct attempt *a); /* nothing runs any more: the agents may go */
void attempt_steps_report(
    struct attempt *a); /* before the start: every host that failed, and why */
void attempt_steps_abandon(struct attempt *a); /* before the start: the user wants no more */
void attempt_steps_give_up(struct attempt *a); /* some agent has not ended its ranks in time */
void attempt_steps_end(struct attempt *a);

/* Until when the state may last; the next one starts without. */
enum { ATTEMPT_STOP_MARGIN_MS = 10000 /* beyond the grace, for an agent to say that it is done */ };
void attempt_steps_set_deadline(struct attempt *a, int ms);

/* Names what is to blame, once it is certain: a cause has been found, or nothing else will come. */
void attempt_steps_report_failure(struct attempt *a, bool is_certain);

#endif
