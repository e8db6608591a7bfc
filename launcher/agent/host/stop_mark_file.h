/* SPDX-License-Identifier: MIT */
/* stop_mark_file.h: tells the ranks of a job directory that the job has been asked to stop
 * (common/agent_to_rank.h). */
#ifndef LAUNCHER_AGENT_HOST_STOP_MARK_FILE_H
#define LAUNCHER_AGENT_HOST_STOP_MARK_FILE_H

#include "common/fault.h"

/* ML_ERR_SYSTEM names the file. */
int stop_mark_file_set(const char *dir, struct fault *why);

#endif
