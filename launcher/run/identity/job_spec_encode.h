/* SPDX-License-Identifier: MIT */
/* job_spec_encode.h: a plan as the JSON texts of LAUNCH_SHARED, the same for all hosts, and of
 * LAUNCH_JOB, one host's share (doc/protocol.md, "Launcher and agent"). */
#ifndef LAUNCHER_RUN_IDENTITY_JOB_SPEC_ENCODE_H
#define LAUNCHER_RUN_IDENTITY_JOB_SPEC_ENCODE_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/identity/job_identity.h"

#include <jansson.h>

struct job_staged;

/* Which hosts there are, how they are reached, and which of them has each rank. addresses: where
 * SSH reached each host of the plan, "" if unknown. The caller releases it. NULL: something is not
 * UTF-8, or out of memory. */
json_t *job_spec_encode_hosts(const struct plan *p, const char *const *addresses);

/* hosts: of job_spec_encode_hosts(). wiring: of wiring_table_write(), or NULL.
 * stdin_mode: see input_mode(). staged: the copy of --stage-env, or NULL. *out holds the secret;
 * the caller frees it with job_spec_encode_destroy(), which wipes it. ML_ERR_ARGUMENT: something is
 * not UTF-8; ML_ERR_MEMORY. */
int job_spec_encode_shared(char **out, const struct plan *p, const struct job_identity *identity,
                           json_t *hosts, json_t *wiring, enum stdin_mode stdin_mode,
                           const struct job_staged *staged, struct fault *why);
/* *out is freed by free(). The same errors. */
int job_spec_encode(char **out, const struct plan *p, int host, const char *const *addresses,
                    struct fault *why);
void job_spec_encode_destroy(char *text); /* takes NULL */

/* The programs and their arguments in one line, quoted as a shell reads them, and cut off after a
 * character so that it has at most size - 1 bytes. */
void job_spec_encode_command_line(char *out, size_t size, const struct plan *p);

#endif
