/* SPDX-License-Identifier: MIT */
/*
 * hang_report.h: one report of where all ranks of a job are, from what the agents say of each:
 * those in the same call, or in the same place, together.
 *
 *     0-6 wait in all_reduce #1041 (ring) for 7
 *     7 is in dataloader.py:88 read
 */
#ifndef LAUNCHER_RUN_STACKS_HANG_REPORT_H
#define LAUNCHER_RUN_STACKS_HANG_REPORT_H

#include "launcher/run/stacks/hang_rank.h"

#include <jansson.h>
#include <stddef.h>

/* By rank. */
void hang_report_sort(struct hang_rank *ranks, size_t count);

/* Returns the members of the event "stalled" (mlaunch-json(5)) but its cause, for the caller to
 * release. `ranks` are sorted. */
json_t *hang_report_make(const struct hang_rank *ranks, size_t count);

/* Returns the same in lines, and below them the stacks of ranks in no call, at most `stacks` of
 * them; each line begins with a newline and `indent`. For the caller to free; NULL: out of
 * memory. */
char *hang_report_text(const json_t *report, const char *indent, int stacks);

#endif
