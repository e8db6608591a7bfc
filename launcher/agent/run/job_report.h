/* SPDX-License-Identifier: MIT */
/* job_report.h: frames that the agent sends by itself while a job runs. */
#ifndef LAUNCHER_AGENT_RUN_JOB_REPORT_H
#define LAUNCHER_AGENT_RUN_JOB_REPORT_H

#include "common/fault.h"

#include <stdbool.h>

struct agent;
struct agent_rank;

/* For JOB. */
void job_report_open(struct agent *a);
/* Notes what is compared when a rank fails, once the first has been started. */
void job_report_note_host(struct agent *a);
void job_report_close(struct agent *a); /* takes an agent without a job */

/* A line for the user; `level` is "error", "warn" or "info". */
void job_report_note(struct agent *a, const char *level, const char *text);

/* Adds to the warnings that READY carries. At most 1023 bytes. */
void job_report_warning(struct agent *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The job, or `mlaunch sync`, cannot begin here: the agent ends once this is sent. */
void job_report_refused(struct agent *a, const char *text);

/* The job cannot continue as it should. */
void job_report_lost(struct agent *a, const char *text);
/* also LOST: the one at that address, from which the host is cut off */
void job_report_cut_off(struct agent *a, const char *coordinator, const char *text);
void job_report_leaving(struct agent *a, const char *text); /* also LOST: it ends by itself */

/* The rank has aborted the job; `why` is a sentence about "it". Or the job cannot go on because of
 * it; `text` continues a sentence that begins with the rank. */
void job_report_aborted(struct agent_rank *r, int status, const char *why);
void job_report_fault(struct agent *a, int rank, const char *text);

/* How a rank has ended; to be called after its output has been sent. */
void job_report_exited(struct agent_rank *r);

/* A rank could not be started; `status` is 125, 126 or 127. */
void job_report_failed(struct agent_rank *r, int status, const struct fault *why);

/* Sends what the ranks, all of which have ended, have recorded of their calls: all calls where all
 * are kept, and the last ones if the job has failed. False: the channel must first take what it
 * has; call again then. */
bool job_report_calls(struct agent *a);

#endif
