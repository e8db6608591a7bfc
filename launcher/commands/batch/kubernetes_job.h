/* SPDX-License-Identifier: MIT */
/* kubernetes_job.h: a job for Kubernetes, whose hosts are pods that call the first of them by
 * mlaunch join. */
#ifndef LAUNCHER_COMMANDS_BATCH_KUBERNETES_JOB_H
#define LAUNCHER_COMMANDS_BATCH_KUBERNETES_JOB_H

#include "launcher/commands/batch/batch_options.h"

#define KUBERNETES_KEY "/run/mlaunch/key" /* the file of the key in a pod */

/* Stores YAML in *out, owned by the caller: a Secret with a new key, a headless Service, and an
 * Indexed Job. ML_ERR_ARGUMENT: a word of the program is not UTF-8; ML_ERR_MEMORY. */
int kubernetes_job_make(char **out, const struct batch_options *b, struct fault *why);

#endif
