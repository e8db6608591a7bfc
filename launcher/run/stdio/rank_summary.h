/* SPDX-License-Identifier: MIT */
/* rank_summary.h: `--summary`: what each rank and each host has used, as a table at the end. */
#ifndef LAUNCHER_RUN_STDIO_RANK_SUMMARY_H
#define LAUNCHER_RUN_STDIO_RANK_SUMMARY_H

#include "launcher/input/plan/plan.h"
#include "launcher/wire/protocol/agent_report.h"

struct rank_summary;

/* For the ranks of `p`, which is borrowed. NULL: out of memory. */
struct rank_summary *rank_summary_create(const struct plan *p);
void rank_summary_destroy(struct rank_summary *s); /* takes NULL */

/* A rank has ended; of several runs the last one stays. `s` may be NULL. */
void rank_summary_add(struct rank_summary *s, const struct exited_report *r);

/* The host that was waited for in most of the calls for all ranks that had to wait for another. */
struct late_host {
    int host; /* index of the plan */
    int64_t calls, of;
};

/* False: there were too few such calls to tell, or no host stands out. Once all ranks have ended;
 * `s` may be NULL. */
bool rank_summary_latest(const struct rank_summary *s, struct late_host *out);

/* Writes the table to standard error: the ranks if there are at most RANK_SUMMARY_MOST, and the
 * hosts if there are several. */
enum { RANK_SUMMARY_MOST = 64 };
void rank_summary_print(const struct rank_summary *s);

#endif
