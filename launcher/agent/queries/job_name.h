/* SPDX-License-Identifier: MIT */
/* job_name.h: `--name`: on one machine a user has at most one live job of each name. */
#ifndef LAUNCHER_AGENT_QUERIES_JOB_NAME_H
#define LAUNCHER_AGENT_QUERIES_JOB_NAME_H

#include "common/fault.h"

/* In the user's directory, only while an agent looks which names there are. */
#define JOB_NAME_FILE ".names"

/* Before the agent of job `job` writes the job.json with `name` into its directory `dir`: *lock is
 * a descriptor that the caller releases once it has, and until when other agents of the user wait
 * here. ML_ERR_STATE: another live job of the user has the name; ML_ERR_SYSTEM. */
int job_name_claim(int *lock, const char *dir, const char *job, const char *name,
                   struct fault *why);
void job_name_release(int lock, const char *dir);

#endif
