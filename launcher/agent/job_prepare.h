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

/* Finds on this host what every job needs, while mlaunch answers HELLO. */
void job_prepare_ahead(struct agent *a);

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

/* Starts --prolog or --epilog as a->hook. Fill in: name, command, cgroup and on_end, whose arg is
 * the agent. Fails as hook_start(). */
int job_prepare_hook(struct agent *a, struct hook_config *hook, struct fault *why);

/* Removes the job directory, which is there, and what is in /dev/shm, unless the guard does so. */
void job_prepare_remove(struct agent *a);

/* Frees what the job has allocated and removes its directory, unless a->dir is "". Takes an agent
 * without a job. */
void job_prepare_release(struct agent *a);

/* Writes job.json, which names a->coordinator, and the file with the secret, or replaces them.
 * ML_ERR_SYSTEM names the file. */
int job_prepare_write_file(struct agent *a, struct fault *why);

/* Makes the job directory again if it was removed while the job ran, with what processes read that
 * start now. ML_ERR_SYSTEM. */
int job_prepare_restore(struct agent *a, struct fault *why);

/* Shows others, now and then, that the job directory is used. */
void job_prepare_touch(struct agent *a);

/* With backend rdma: writes rdma.json, which tells the ranks' runtime which devices reach which
 * hosts, or replaces it. ML_ERR_SYSTEM names the file. */
int job_prepare_write_wiring(struct agent *a, struct fault *why);

#endif
