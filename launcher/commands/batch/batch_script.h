/* SPDX-License-Identifier: MIT */
/* batch_script.h: makes the text of a job script. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_SCRIPT_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_SCRIPT_H

#include "launcher/commands/batch/batch_options.h"

/* Stores the script in *out, owned by the caller. ML_ERR_ARGUMENT: the batch system would read a
 * line of one of the program's words as an option. */
int batch_script_make(char **out, const struct batch_options *b, struct fault *why);

#endif
