/* SPDX-License-Identifier: MIT */
/* metric_hook.h: what a command of the user's adds to a page (--command). */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_HOOK_H
#define LAUNCHER_TOOLS_METRICS_METRIC_HOOK_H

#include "common/fault.h"

enum { METRIC_HOOK_MS = 5000, METRIC_HOOK_MOST = 1 << 20 /* bytes */ };

/* Runs `command` in a shell, for at most METRIC_HOOK_MS, and returns what it has printed, which the
 * caller frees. ML_ERR_SYSTEM: it cannot be started, takes too long, prints too much, or has failed
 * without printing anything. */
int metric_hook_run(char **out, const char *command, struct fault *why);

#endif
