/* SPDX-License-Identifier: MIT */
/*
 * window_signal_linux.h: how a thread sleeps until a number in its part of a window has grown, and
 * how a rank that shares that memory wakes it: by a futex in the part's window_control. The sleeper
 * announces itself and then looks at the number again; the writer changes the number and then looks
 * for sleepers. All four accesses are sequentially consistent, so one of the two sees the other's.
 */
#ifndef RUNTIME_WINDOW_WINDOW_SIGNAL_LINUX_H
#define RUNTIME_WINDOW_WINDOW_SIGNAL_LINUX_H

#include "runtime/window/window_part.h"

/* Wakes those that sleep at c, whether or not a number has changed. */
void window_signal_wake(struct window_control *c);

/* Call it after a sequentially consistent change of a number in the part. */
static inline void window_signal_ring(struct window_control *c)
{
    if (__builtin_expect(atomic_load(&c->sleepers) != 0, 0))
        window_signal_wake(c);
}

/* Sleeps until has_come(arg), or until deadline_ns (clock_ns; INT64_MAX: without end). Returns
 * has_come(arg). */
bool window_signal_sleep(struct window_control *c, bool (*has_come)(void *arg), void *arg,
                         int64_t deadline_ns);

#endif
