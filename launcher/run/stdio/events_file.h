/* SPDX-License-Identifier: MIT */
/* events_file.h: `--events FILE`: the events of a job for programs, one JSON object a line. */
#ifndef LAUNCHER_RUN_STDIO_EVENTS_FILE_H
#define LAUNCHER_RUN_STDIO_EVENTS_FILE_H

#include "common/fault.h"

#include <jansson.h>

struct events_file;

/* Empties the file. name: the job's, borrowed, or NULL. path NULL: *out is NULL, and what is
 * written to it is dropped. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int events_file_open(struct events_file **out, const char *path, const char *name,
                     struct fault *why);
void events_file_close(struct events_file *e); /* takes NULL */

/* Writes {"time": seconds since 1970, "event": event, "job": job, "name": name if there is
 * one, …members}. Takes over `members`,
 * which may be NULL. The line is in the file on return; after a failure, which is reported once,
 * nothing more is written. */
void events_file_write(struct events_file *e, const char *event, const char *job, json_t *members);

#endif
