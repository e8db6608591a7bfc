/* SPDX-License-Identifier: MIT */
#include "runtime/world/abort.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/process/fork_guard.h"
#include "runtime/world/world_join.h"

#include <stdio.h>
#include <unistd.h>

void abort_job(int status, const char *why)
{
    struct world *w = fork_guard_is_child ? NULL : world_join_current();
    bool is_heard = false;

    if ((status & 0xff) == 0)
        status = 1;
    why = why && *why ? why : "no reason given";
    if (w && w->is_launched)
        is_heard =
            coord_events_send(w->coord_events, COORD_ABORT,
                              json_pack("{s:i, s:o}", "status", status, "why", text_json(why)),
                              NULL) == 0 &&
            coord_events_await_left(w->coord_events, w->rank, clock_ms() + COORD_LEFT_MS, NULL) ==
                0;
    /* Otherwise the launcher prints it. */
    if (!is_heard)
        fprintf(stderr, "mlaunch: ml_abort: %s\n", why);
    _exit(status);
}
