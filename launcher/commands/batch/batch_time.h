/* SPDX-License-Identifier: MIT */
/* batch_time.h: parses a time limit in the forms of Slurm. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_TIME_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_TIME_H

#include "common/fault.h"

#include <stdint.h>

/* MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES,
 * DAYS-HOURS:MINUTES:SECONDS. ML_ERR_ARGUMENT, also for 0. */
int batch_time_parse(int64_t *seconds, const char *text, struct fault *why);

#endif
