/* SPDX-License-Identifier: MIT */
/* recording.h: what a job writes of its ranks' calls: `--record`, `--trace` and
 * `--compare-hashes`. All runs of the job go into the same files, which are opened before the
 * first. */
#ifndef LAUNCHER_RUN_RECORD_RECORDING_H
#define LAUNCHER_RUN_RECORD_RECORDING_H

#include "common/fault.h"
#include "common/rank_calls.h"
#include "launcher/input/plan/plan.h"
#include "launcher/run/record/clock_offset.h"

#include <stdbool.h>
#include <stddef.h>

struct recording;

/* *out is NULL if the plan, which is borrowed, asks for no file. ML_ERR_SYSTEM names a file that
 * cannot be written; ML_ERR_MEMORY. */
int recording_open(struct recording **out, const struct plan *p, struct fault *why);

/* Adds calls of a rank, nearly in the order in which they began; is_last: there are no more in this
 * run. run: how many came before. clock: that of the rank's host. `r` may be NULL. Calls for which
 * there is no memory are dropped. */
void recording_add(struct recording *r, int rank, int run, const struct clock_offset *clock,
                   const struct rank_call *calls, size_t count, bool is_last);

/* Ends the files, warns of one that could not be written, and, if ranks have run, of one without
 * calls, and says how --compare-hashes has ended. Returns true if that has found a difference, or
 * no call. Takes NULL. */
bool recording_close(struct recording *r, bool has_run);

#endif
