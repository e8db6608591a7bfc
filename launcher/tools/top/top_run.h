/* SPDX-License-Identifier: MIT */
/* top_run.h: the views: as text, for scripts, and live on a terminal. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_RUN_H
#define LAUNCHER_TOOLS_TOP_TOP_RUN_H

#include "launcher/ask/query_command.h"
#include "launcher/tools/top/top_rows.h"

struct event_base;

/* Prints that many views, one every `every_s`; the first when all hosts have been asked twice, so
 * that it has rates. *status becomes the program's: STATUS_OURS if a host has failed, 1 if the last
 * view lacks the command's JOB. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int top_batch_run(struct event_base *base, const struct query_command *c, int every_s, int views,
                  enum top_column column, int *status, struct fault *why);

/* Shows the live view, from the first look to the last key. Returns when the user quits or a signal
 * ends it, which *status, the program's, says then; the terminal is as it was before.
 * ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int top_live_run(struct event_base *base, const struct query_command *c, int every_s,
                 enum top_column column, int *status, struct fault *why);

#endif
