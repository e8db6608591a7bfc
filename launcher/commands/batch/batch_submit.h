/* SPDX-License-Identifier: MIT */
/* batch_submit.h: submits a job script to its batch system. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_SUBMIT_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_SUBMIT_H

#include "launcher/commands/batch/batch_options.h"

/* Runs the submit command of the batch system, whose messages go to stderr. *id is the job's number
 * as its other commands take it, owned by the caller. ML_ERR_REFUSED: the command failed or its
 * answer cannot be parsed. */
int batch_submit(char **id, enum batch_system system, const char *script, struct fault *why);

#endif
