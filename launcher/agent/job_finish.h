/* SPDX-License-Identifier: MIT */
/*
 * job_finish.h: the end of the job. Code that may have ended a rank, or sent its last output, calls
 * agent_check_soon (agent.h). Then, once in a turn of the loop, EXITED is sent for ranks whose
 * output has been sent; and after all ranks have ended, their remaining descendants are ended. Once
 * none is left, DONE is sent, and the guard removes the job directory meanwhile.
 */
#ifndef LAUNCHER_AGENT_JOB_FINISH_H
#define LAUNCHER_AGENT_JOB_FINISH_H

#include "common/fault.h"

#include <stdbool.h>

struct agent;

/* Forgets the job, all of whose processes have ended, and leaves the agent as it was when it said
 * HELLO. The directory stays, empty, and so does what ranks have kept (ml_keep). */
void job_finish_forget(struct agent *a);

/* Makes a->check_event. ML_ERR_MEMORY. */
int job_finish_open(struct agent *a, struct fault *why);

/* Whether DONE has been written and nobody needs this agent any more, as the job has no other host.
 * Others need the coordinator until BYE. */
bool job_finish_is_over(const struct agent *a);

#endif
