/* SPDX-License-Identifier: MIT */
/* compose_job.h: a job for docker compose and podman-compose: a service for each host, all of which
 * call the first. */
#ifndef LAUNCHER_COMMANDS_BATCH_COMPOSE_JOB_H
#define LAUNCHER_COMMANDS_BATCH_COMPOSE_JOB_H

#include "launcher/commands/batch/batch_options.h"

/* Stores YAML in *out, owned by the caller. The key is a file beside it, which the user makes: a
 * file of Compose can hold none. ML_ERR_ARGUMENT: a word of the program is not UTF-8, or a
 * resource has no meaning there; ML_ERR_MEMORY. */
int compose_job_make(char **out, const struct batch_options *b, struct fault *why);

#endif
