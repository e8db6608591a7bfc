/* SPDX-License-Identifier: MIT */
/* batch_submit.h: a job script handed to its batch system. */
#ifndef LAUNCHER_BATCH_BATCH_SUBMIT_H
#define LAUNCHER_BATCH_BATCH_SUBMIT_H

#include "launcher/batch/batch_options.h"

/* *id: the job's number as the system's other commands take it; owned by the caller. What the
 * system's command complains of goes to stderr. */
int batch_submit(char **id, enum batch_system system, const char *script, struct fault *why);

#endif
