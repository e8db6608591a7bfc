/* SPDX-License-Identifier: MIT */
/*
 * detach.h: `--detach`: mlaunch continues in the background, in a session of its own, with a log in
 * place of its standard output and standard error, and returns here once all ranks have started.
 *
 *     mlaunch ── fork ──▶ mlaunch: runs the job, writes the log
 *        │ ◀── a byte: all ranks have started; or the end: what the log has is printed
 *        ▼
 *     exit status
 */
#ifndef LAUNCHER_RUN_JOB_DETACH_H
#define LAUNCHER_RUN_JOB_DETACH_H

#include "common/fault.h"
#include "launcher/run/job/job_log.h"

#include <stdbool.h>
#include <stdint.h>

struct detach {
    const char *id, *name; /* the job's; name may be NULL */
    struct job_log log;
    int to_parent; /* in the background: tells that the ranks have started; or -1 */
    int pid;       /* the background process's, in the one in the foreground */
    int64_t start_ms;
};

/* Forks. *is_parent: this is the process that the user has started. Call it before there are
 * threads. ML_ERR_SYSTEM, in the parent. */
int detach_start(struct detach *d, bool *is_parent, struct fault *why);

/* In the parent: waits until all ranks have started, and returns -1, or until the other has ended;
 * then it prints its log and returns its exit status. Signals that ask for the end are passed
 * on. */
int detach_await(struct detach *d);

/* In the background, with a struct detach: all ranks have started; more has been written. */
void detach_on_started(void *arg);
void detach_on_written(void *arg);

/* In the background: says at the end of the log how the job has ended. */
void detach_conclude(struct detach *d, int status);

#endif
