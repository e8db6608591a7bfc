/* SPDX-License-Identifier: MIT */
/*
 * window_wait.h: how a call on a window sleeps until a number in this rank's part has grown, and
 * how it is told of once that lasts: to the coordinator, and in a note (wait_note.h), as a call on
 * a group is by wait.h.
 */
#ifndef RUNTIME_WINDOW_WINDOW_WAIT_H
#define RUNTIME_WINDOW_WINDOW_WAIT_H

#include "runtime/window/window.h"

#include <stdbool.h>
#include <stdint.h>

struct window_wait {
    struct window *window;
    bool (*has_come)(void *arg);
    void *arg;
    int64_t deadline_ns; /* clock_ns; INT64_MAX: none */
    /* The number that is awaited, for what is said; or NULL: ml_window_free waits until all ranks
     * are at that stage. */
    const _Atomic uint64_t *number;
    uint64_t offset, at_least;
    enum window_stage stage;
};

/* Any thread. Returns once has_come(arg), or at the deadline. */
void window_wait(const struct window_wait *x);

#endif
