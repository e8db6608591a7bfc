/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_signal_linux.h"

#include "common/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000 * 1000 * 1000 };

void window_signal_wake(struct window_control *c)
{
    atomic_fetch_add(&c->rings, 1);
    syscall(SYS_futex, &c->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns at once if c->rings is no longer `rings`. */
static void signal_wait(struct window_control *c, uint32_t rings, int64_t left_ns)
{
    struct timespec left = {.tv_sec = (time_t)(left_ns / SECOND_NS),
                            .tv_nsec = (long)(left_ns % SECOND_NS)};

    syscall(SYS_futex, &c->rings, FUTEX_WAIT, rings, left_ns == INT64_MAX ? NULL : &left, NULL, 0);
}

bool window_signal_sleep(struct window_control *c, bool (*has_come)(void *arg), void *arg,
                         int64_t deadline_ns)
{
    bool came;

    atomic_fetch_add(&c->sleepers, 1);
    for (;;) {
        uint32_t rings = atomic_load(&c->rings);
        int64_t left_ns = INT64_MAX;

        came = has_come(arg);
        if (deadline_ns != INT64_MAX)
            left_ns = deadline_ns - clock_ns();
        if (came || left_ns <= 0)
            break;
        signal_wait(c, rings, left_ns);
    }
    atomic_fetch_sub(&c->sleepers, 1);
    return came;
}
