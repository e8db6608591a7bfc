/* SPDX-License-Identifier: MIT */
/*
 * host_result.h: hosts that are independent of each other (job_round_config's `results`). Each
 * takes its steps as soon as it can, and what fails is a result of that host alone.
 */
#ifndef LAUNCHER_RUN_ROUND_HOST_RESULT_H
#define LAUNCHER_RUN_ROUND_HOST_RESULT_H

#include "launcher/run/round/job_round_state.h"
#include "launcher/wire/protocol/agent_report.h"

/* A rank has ended by itself or by a signal. */
void host_result_exited(const struct job_round *r, const struct exited_report *e, const char *host);

/* The host cannot go on: its ranks that have no result yet get this one. `text`: a sentence, or
 * NULL. */
void host_result_fail(const struct job_round *r, const struct job_round_member *m, int status,
                      const char *text);

#endif
