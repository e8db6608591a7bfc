/* SPDX-License-Identifier: MIT */
/* batch_script.h: the job script itself. */
#ifndef LAUNCHER_BATCH_BATCH_SCRIPT_H
#define LAUNCHER_BATCH_BATCH_SCRIPT_H

#include "launcher/batch/batch_options.h"

/* *out: the script, owned by the caller. ML_ERR_ARGUMENT: a word of the program's would be read by
 * the batch system as a line of its own. */
int batch_script_make(char **out, const struct batch_options *b, struct fault *why);

#endif
