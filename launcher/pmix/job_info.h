/* SPDX-License-Identifier: MIT */
/* job_info.h: what the ranks learn about their job before they have exchanged anything. */
#ifndef LAUNCHER_PMIX_JOB_INFO_H
#define LAUNCHER_PMIX_JOB_INFO_H

#include "common/fault.h"
#include "launcher/pmix/served_job.h"

/* Registers the job and this host's ranks with the server. ML_ERR_SYSTEM with libpmix's word. */
int job_info_register(const struct served_job *j, struct fault *why);

/* What the process with index `index` needs in its environment, as an array of NAME=VALUE. NULL:
 * `why` has the reason. */
json_t *job_info_environment(const struct served_job *j, int index, struct fault *why);

#endif
