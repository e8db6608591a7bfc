/* SPDX-License-Identifier: MIT */
/* report.h: frames that the agent sends by itself while a job runs. */
#ifndef LAUNCHER_AGENT_REPORT_H
#define LAUNCHER_AGENT_REPORT_H

#include "common/fault.h"

#include <stdbool.h>

struct agent;
struct agent_rank;

/* A line for the user; `level` is "error", "warn" or "info". */
void report_note(struct agent *a, const char *level, const char *text);

/* The job cannot continue as it should. */
void report_lost(struct agent *a, const char *text);
void report_cut_off(struct agent *a, const char *text); /* LOST, too: from the coordinator */

/* The rank has aborted the job; `why` is a sentence about "it". Or the job cannot go on because of
 * it; `text` continues a sentence that begins with the rank. */
void report_aborted(struct agent_rank *r, int status, const char *why);
void report_fault(struct agent *a, int rank, const char *text);

/* How a rank has ended; to be called after its output has been sent. */
void report_exited(struct agent_rank *r);

/* A rank could not be started; `status` is 125, 126 or 127. */
void report_failed(struct agent_rank *r, int status, const struct fault *why);

/* Sends what the ranks, all of which have ended, have recorded of their calls: all calls where all
 * are kept, and the last ones if the job has failed. False: it goes on once the channel has taken
 * what it has, and is to be called again then. */
bool report_calls(struct agent *a);

#endif
