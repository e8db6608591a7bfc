/* SPDX-License-Identifier: MIT */
/* job_log.h: the log of one detached job, as its mlaunch writes it. */
#ifndef LAUNCHER_RUN_LOG_JOB_LOG_H
#define LAUNCHER_RUN_LOG_JOB_LOG_H

#include "common/fault.h"

#include <limits.h>

struct job_log {
    char path[PATH_MAX];
    int fd, lock; /* two ways to the file: children inherit what is written to, but not the lock */
};

/* Makes the log of a job; name: or NULL. It is locked from its first moment on, and has room for
 * its last line. ML_ERR_SYSTEM. */
int job_log_open(struct job_log *out, const char *id, const char *name, struct fault *why);

/* Makes the log this process's standard output and standard error. */
void job_log_take(struct job_log *l);

/* Begins a new part if the log has become long; the part before the last is lost then. Nobody else
 * may write to standard output meanwhile: who follows the log goes on to the new part as soon as
 * it is there. */
void job_log_bound(struct job_log *l);

/* Appends the last line, for which there is room even if the file system is full. */
void job_log_end(const char *line);

/* Closes it here; the file and the lock stay as long as another process has them. */
void job_log_close(struct job_log *l);

#endif
