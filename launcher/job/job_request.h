/* SPDX-License-Identifier: MIT */
/* job_request.h: a plan as LAUNCH_JOB tells it to one host (doc/protocol.md, "Launcher and agent").
 */
#ifndef LAUNCHER_JOB_JOB_REQUEST_H
#define LAUNCHER_JOB_JOB_REQUEST_H

#include "launcher/job/job_identity.h"
#include "launcher/plan/plan.h"

#include <jansson.h>

/* `addresses`: per used host, where SSH reached it, "" if unknown. `wiring`: the rdma matrix or NULL. `stdin_mode`: the plan's, or
 * STDIN_NONE in the background. The text holds the secret: job_request_destroy wipes it. */
int job_request_create(char **out, const struct plan *p, const struct job_identity *identity,
                       int host, const char *const *addresses, json_t *wiring,
                       enum stdin_mode stdin_mode, struct fault *why);
void job_request_destroy(char *text); /* takes NULL */

/* The programs and their arguments as one line, at most size - 1 bytes. */
void job_request_command_line(char *out, size_t size, const struct plan *p);

#endif
