/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <limits.h>
#include <time.h>

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

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms();

    if (left <= 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}
