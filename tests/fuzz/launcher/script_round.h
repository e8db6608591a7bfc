/* SPDX-License-Identifier: MIT */
/*
 * script_round.h: a run of a job on the hosts a, b and c, of which a has two ranks, b and c one.
 * Its agents are a script (script_channel.h), its output goes nowhere.
 */
#ifndef TESTS_FUZZ_SCRIPT_ROUND_H
#define TESTS_FUZZ_SCRIPT_ROUND_H

#include "launcher/run/round/job_round.h"

#include <stddef.h>
#include <stdint.h>

/* Over TCP, over RDMA, and over TCP with --elastic 2. */
enum script_job { SCRIPT_TCP, SCRIPT_RDMA, SCRIPT_ELASTIC, SCRIPT_JOBS };

/* Returns the run at its end, to be destroyed before `base`; it aborts if the run does not end with
 * the script. results: of independent hosts, or NULL. */
struct job_round *script_round_run(struct event_base *base, enum script_job job,
                                   const struct rank_results *results, const uint8_t *script,
                                   size_t size);

#endif
