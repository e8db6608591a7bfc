/* SPDX-License-Identifier: MIT */
/* top_live.h: the live view on a terminal, from the first look to the last key. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_LIVE_H
#define LAUNCHER_TOOLS_TOP_TOP_LIVE_H

#include "launcher/ask/query_command.h"
#include "launcher/tools/top/top_rows.h"

struct event_base;

/* Returns when the user quits or a signal ends it, which *status, the program's, says then; the
 * terminal is as it was before. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int top_live_run(struct event_base *base, const struct query_command *c, int every_s,
                 enum top_column column, int *status, struct fault *why);

#endif
