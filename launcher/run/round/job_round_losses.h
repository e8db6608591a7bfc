/* SPDX-License-Identifier: MIT */
/* job_round_losses.h: ranks that end, and what the others do without them (--elastic): who is a
 * member. r: the round; m: one of its hosts. */
#ifndef LAUNCHER_RUN_ROUND_JOB_ROUND_LOSSES_H
#define LAUNCHER_RUN_ROUND_JOB_ROUND_LOSSES_H

#include "launcher/run/round/job_round_state.h"

/* A rank has exited, or its host is lost; or all ranks of a host. */
void job_round_losses_end(struct job_round *r, int rank);
void job_round_losses_end_all(struct job_round *r, const struct job_round_member *m);

/* `count` ranks have died of one cause, which the failure has if it is the first. Those that live
 * go on, or the job ends. are_left_out: they went on without the dead before, and may have ended
 * since. */
void job_round_losses_die(struct job_round *r, int count, const char *text, bool are_left_out);

/* The rank's process has ended, and its place waits for another one, which uses up a restart. */
void job_round_losses_await(struct job_round *r, int rank);
/* A rank has died whose place another process takes: the agent of its host starts it. False: no
 * restart is left, or nobody whom it could join. */
bool job_round_losses_replace(struct job_round *r, int rank, const char *text);
/* Nobody takes the place of a rank that has ended. */
void job_round_losses_vacate(struct job_round *r, int rank);
/* Those that are left are to join others that have ended: they are ended, too. */
void job_round_losses_end_coming(struct job_round *r);

/* The last rank has ended well, and those that died before it were outlived. */
void job_round_losses_forget(struct job_round *r);

/* How many ranks are members of the newest world. */
int job_round_losses_members(const struct job_round *r);
/* Says which ranks have ended well together, if they are not those that began. */
void job_round_losses_report(const struct job_round *r);

/* REPAIRED from the host of the coordinator; as a handler of frames. */
int job_round_losses_on_repaired(struct job_round *r, struct job_round_member *m,
                                 const struct frame *f, struct fault *why);

#endif
