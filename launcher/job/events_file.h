/* SPDX-License-Identifier: MIT */
/* events_file.h: `--events FILE`: what happens to a job, one JSON object a line, for programs. */
#ifndef LAUNCHER_JOB_EVENTS_FILE_H
#define LAUNCHER_JOB_EVENTS_FILE_H

#include "common/fault.h"

#include <jansson.h>

struct events_file;

/* path NULL: *out is NULL, and what is written to it is dropped. */
int events_file_open(struct events_file **out, const char *path, struct fault *why);
void events_file_close(struct events_file *e); /* takes NULL */

/* {"time": seconds since 1970, "event": event, "job": job, …members}; takes over `members` (may be
 * NULL). The line is in the file on return. */
void events_file_write(struct events_file *e, const char *event, const char *job, json_t *members);

#endif
