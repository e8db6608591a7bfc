/* SPDX-License-Identifier: MIT */
/* uplink_patience.h: the pauses between tries to do what another machine is not ready for yet. */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_PATIENCE_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_PATIENCE_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the second try; twice as long before each further one. */
enum { UPLINK_PAUSE_MS = 100 };

struct uplink_patience {
    int64_t deadline_ms;                          /* clock_ms */
    int pause_ms;                                 /* before the next try */
    char last[sizeof(((struct fault *)0)->text)]; /* why the last try failed */
};

struct uplink_patience uplink_patience_begin(int limit_ms);

/* After a try that failed for the reason `why`, which is logged if it is a new one: waits a moment.
 * False: the time is over. */
bool uplink_patience_wait(struct uplink_patience *p, const struct fault *why);

#endif
