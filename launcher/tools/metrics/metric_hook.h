/* SPDX-License-Identifier: MIT */
/* metric_hook.h: what a command of the user's adds to a page (--command), on the loop, which a
 * command that hangs does not stop. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_HOOK_H
#define LAUNCHER_TOOLS_METRICS_METRIC_HOOK_H

#include "common/fault.h"

#include <event2/event.h>

enum { METRIC_HOOK_MS = 5000, METRIC_HOOK_MOST = 1 << 20 /* bytes */ };

struct metric_hook;

/* Called once, from the loop. `printed` is what the command has printed, which the callee may
 * change, and is freed after the call; NULL: nothing that could be taken. `why` has a text if the
 * command has failed, printed nothing or too much, or has taken too long. The hook is gone. */
typedef void metric_hook_on_end(char *printed, const struct fault *why, void *arg);

/* Runs `command` in a shell for at most `limit_ms`. ML_ERR_SYSTEM: it cannot be started;
 * ML_ERR_MEMORY. */
int metric_hook_start(struct metric_hook **out, struct event_base *base, const char *command,
                      int limit_ms, metric_hook_on_end *on_end, void *arg, struct fault *why);

/* Ends the command without a call of on_end; takes NULL. */
void metric_hook_cancel(struct metric_hook *h);

#endif
