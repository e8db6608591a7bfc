/* SPDX-License-Identifier: MIT */
/* progress_line.h: `connecting 12/64 …` on a terminal, while it lasts longer than a moment. */
#ifndef LAUNCHER_STDIO_PROGRESS_LINE_H
#define LAUNCHER_STDIO_PROGRESS_LINE_H

#include "common/fault.h"
#include "launcher/stdio/output.h"

struct event_base;
struct progress_line;

int progress_line_start(struct progress_line **out, struct event_base *base, struct output *output,
                        int total, struct fault *why);
void progress_line_step(struct progress_line *p); /* one more host has answered; takes NULL */
void progress_line_stop(struct progress_line *p); /* the line vanishes; takes NULL */

#endif
