/* SPDX-License-Identifier: MIT */
/* progress_line.h: `connecting 12/64 …` on a terminal, if that takes longer than a moment. */
#ifndef LAUNCHER_RUN_STDIO_PROGRESS_LINE_H
#define LAUNCHER_RUN_STDIO_PROGRESS_LINE_H

#include "common/fault.h"
#include "launcher/run/stdio/output.h"

struct event_base;
struct progress_line;

/* total: the hosts. *out is NULL if standard error is not a terminal. ML_ERR_MEMORY. */
int progress_line_start(struct progress_line **out, struct event_base *base, struct output *output,
                        int total, struct fault *why);
void progress_line_step(struct progress_line *p); /* another host has answered; takes NULL */
void progress_line_stop(struct progress_line *p); /* removes the line; takes NULL */

#endif
