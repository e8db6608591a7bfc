/* SPDX-License-Identifier: MIT */
/*
 * foreign_report.h: what other libraries have told the agents of ranks that hang in them
 * ("evidence" in doc/protocol.md): torch of each process group, NCCL of the whole job.
 *
 *     0-2 wait in all_reduce #41 of torch's group default_pg at t.py:17, 3 has ended all_reduce #40
 */
#ifndef LAUNCHER_RUN_STACKS_FOREIGN_REPORT_H
#define LAUNCHER_RUN_STACKS_FOREIGN_REPORT_H

#include "launcher/run/stacks/hang_rank.h"

#include <jansson.h>
#include <stddef.h>

struct report_writer;

/* Adds "torch", "nccl" and "silent" of the event "stalled" (mlaunch-json(5)) to the report, where
 * there are any. `ranks` are sorted. */
void foreign_report_add(json_t *report, const struct hang_rank *ranks, size_t count);

/* Writes the same in lines. */
void foreign_report_write(const struct report_writer *w, const json_t *report);

#endif
