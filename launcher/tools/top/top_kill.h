/* SPDX-License-Identifier: MIT */
/* top_kill.h: `mlaunch kill JOB` in the background of the view, with the same hosts. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_KILL_H
#define LAUNCHER_TOOLS_TOP_TOP_KILL_H

#include "common/fault.h"

struct event_base;
struct top_kill;

/* What it has said when it has ended, as one line. The kill may be closed then. */
typedef void top_kill_on_end(const char *text, void *arg);

/* `passed`: the options that say which hosts; ends with NULL. ML_ERR_ARGUMENT: `job` could be an
 * option; ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int top_kill_start(struct top_kill **out, struct event_base *base, char *const *passed,
                   const char *job, top_kill_on_end *on_end, void *arg, struct fault *why);

/* Listens no more; what has begun continues. Takes NULL. */
void top_kill_close(struct top_kill *k);

#endif
