/* SPDX-License-Identifier: MIT */
/* record_file.h: `--record FILE`: all calls of all ranks, one JSON object a line. */
#ifndef LAUNCHER_RUN_RECORD_RECORD_FILE_H
#define LAUNCHER_RUN_RECORD_RECORD_FILE_H

#include "common/fault.h"
#include "common/rank_calls.h"

#include <stddef.h>
#include <stdio.h>

/* Writes `count` calls of a rank. restart: how many runs of the job came before. host: escaped as
 * JSON is. */
void record_file_write(FILE *f, int rank, const char *host, int restart,
                       const struct rank_call *calls, size_t count);

#endif
