/* SPDX-License-Identifier: MIT */
/* batch_script.h: makes the text of a job script, and submits it. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_SCRIPT_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_SCRIPT_H

#include "launcher/commands/batch/batch_options.h"

/* Stores the script in *out, owned by the caller. ML_ERR_ARGUMENT: the batch system would read a
 * line of one of the program's words as an option. */
int batch_script_make(char **out, const struct batch_options *b, struct fault *why);

/* Runs the submit command of the batch system, whose messages go to stderr. *id is the job's number
 * as its other commands take it, owned by the caller. ML_ERR_REFUSED: the command failed or its
 * answer cannot be parsed. */
int batch_submit(char **id, enum batch_system system, const char *script, struct fault *why);

#endif
