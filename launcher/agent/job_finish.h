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

struct agent;

/* Makes a->check_event. ML_ERR_MEMORY. */
int job_finish_open(struct agent *a, struct fault *why);

#endif
