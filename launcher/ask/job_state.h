/* SPDX-License-Identifier: MIT */
/* job_state.h: the state of a job for people, from a host's answer about it. */
#ifndef LAUNCHER_ASK_JOB_STATE_H
#define LAUNCHER_ASK_JOB_STATE_H

#include <jansson.h>

enum { JOB_STATE_TEXT = 96 };

/* "live", or of a job whose ranks have changed (--elastic) "live, 6 members (membership 2)".
 * Returns out. */
char *job_state_text(char out[JOB_STATE_TEXT], const json_t *job);

#endif
