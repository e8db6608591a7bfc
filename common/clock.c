/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <limits.h>
#include <stdatomic.h>

enum {
    STEP_MS = 1000, /* clock_poll() looks so often: no more of a stop counts as waiting */
    LATE_MS = 1000  /* no return of poll() is that late */
};

static _Atomic int64_t stopped_ms; /* all stops that were noticed */
static _Atomic int64_t noticed_ms; /* the system's time up to which they were looked for */

static int64_t system_ms(void)
{
    return clock_ns() / 1000000;
}

int64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t clock_ms(void)
{
    return system_ms() - atomic_load_explicit(&stopped_ms, memory_order_relaxed);
}

struct timespec clock_after(int64_t ns)
{
    const int64_t second = 1000000000;
    int64_t at = clock_ns() + ns;

    return (struct timespec){.tv_sec = (time_t)(at / second), .tv_nsec = (long)(at % second)};
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms();

    if (left <= 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* All threads of a process are stopped together: each may notice it, and it counts once. */
static void stop_note(int64_t from_ms, int64_t to_ms)
{
    int64_t noticed = atomic_load(&noticed_ms);

    while (to_ms > noticed && !atomic_compare_exchange_weak(&noticed_ms, &noticed, to_ms))
        continue;
    from_ms = from_ms > noticed ? from_ms : noticed;
    if (to_ms > from_ms)
        atomic_fetch_add(&stopped_ms, to_ms - from_ms);
}

int clock_poll(struct pollfd *polls, nfds_t count, int64_t deadline_ms)
{
    int rc;

    if (deadline_ms < 0)
        return poll(polls, count, -1);
    do {
        int left = clock_left_ms(deadline_ms), step = left < STEP_MS ? left : STEP_MS;
        int64_t due_ms = system_ms() + step, now_ms;

        rc = poll(polls, count, step);
        now_ms = system_ms();
        if (now_ms > due_ms + LATE_MS)
            stop_note(due_ms, now_ms);
    } while (rc == 0 && clock_left_ms(deadline_ms) > 0);
    return rc;
}
