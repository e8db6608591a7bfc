/* SPDX-License-Identifier: MIT */
/* monotonic.h: the time since a fixed moment. */
#ifndef LLM_STEPS_MONOTONIC_H
#define LLM_STEPS_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t monotonic_ms(void)
{
    return monotonic_ns() / 1000000;
}

static inline double monotonic_s(void)
{
    return (double)monotonic_ns() * 1e-9;
}

#endif
