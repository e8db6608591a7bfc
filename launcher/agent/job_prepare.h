/* SPDX-License-Identifier: MIT */
/* job_prepare.h: handles LAUNCH_JOB: finds out whether this host can run its part of the job,
 * before anything runs anywhere. */
#ifndef LAUNCHER_AGENT_JOB_PREPARE_H
#define LAUNCHER_AGENT_JOB_PREPARE_H

#include "common/fault.h"

#include <stddef.h>
#include <stdint.h>

struct agent;
struct hook_config;

/* Makes the job directory, opens the coordinator if this is its host, and sends READY; or WANT, if
 * files must come first. On failure sends REFUSED with the reason and leaves nothing behind. */
void job_prepare(struct agent *a, const char *text, size_t size);

/* Takes bytes of a file that the job needs. After the last one sends READY, or on failure
 * REFUSED. */
void job_prepare_file(struct agent *a, uint32_t index, const void *bytes, size_t size);

/* The copy of --stage-env is there. If no file is missing either, sends READY, or on failure
 * REFUSED. */
void job_prepare_staged(struct agent *a);

/* What the job needs cannot come, for the reason `text`: sends REFUSED. */
void job_prepare_fail(struct agent *a, const char *text);

/* Starts --prolog or --epilog as run.hook. Fill in: name, command, cgroup and on_end, whose arg is
 * the agent. Fails as hook_start(). */
int job_prepare_hook(struct agent *a, struct hook_config *hook, struct fault *why);

#endif
