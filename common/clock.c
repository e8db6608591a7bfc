/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <limits.h>

int64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
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
