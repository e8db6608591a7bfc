/* SPDX-License-Identifier: MIT */
/* accept.h: LAUNCH_JOB: whether this host can do what is asked, found out before anything runs
 * anywhere. */
#ifndef LAUNCHER_AGENT_ACCEPT_H
#define LAUNCHER_AGENT_ACCEPT_H

#include <stddef.h>

struct agent;

/* Makes the job directory, opens the coordinator where it belongs, and answers READY; or REFUSED
 * with the reason, and leaves nothing behind. */
void accept_job(struct agent *a, const char *text, size_t size);

/* Frees what the job has allocated, removes its directory. Takes an agent without a job. */
void accept_release(struct agent *a);

/* (Re)writes job.json and secret. */
struct fault;
int accept_write_job_file(struct agent *a, const char *coordinator, struct fault *why);

#endif
