/* SPDX-License-Identifier: MIT */
/* call_clock.h: the time at which a call begins and ends. clock_gettime() would take most of the
 * time that a record may cost, so processors' own counters are read where they run evenly. */
#ifndef COMMON_CALL_CLOCK_H
#define COMMON_CALL_CLOCK_H

#include "common/clock.h"
#include "common/rank_calls.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#define call_clock_ticks() __builtin_ia32_rdtsc()
static inline bool call_clock_is_even(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8); /* invariant TSC */
}
#elif defined(__aarch64__)
static inline uint64_t call_clock_ticks(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
static inline bool call_clock_is_even(void)
{
    return true;
}
#else
#define call_clock_ticks() ((uint64_t)clock_ns())
static inline bool call_clock_is_even(void)
{
    return false;
}
#endif

/* The narrowest of a few attempts, since the thread may be interrupted within one. */
static inline struct call_moment call_clock_now(bool ticks_are_ns)
{
    struct call_moment best = {0};
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before = call_clock_ticks(), ns = (uint64_t)clock_ns(), after = call_clock_ticks();

        if (after - before < least) {
            least = after - before;
            best = (struct call_moment){ticks_are_ns ? ns : before + least / 2, ns};
        }
    }
    return best;
}

/* Ticks as ns of CLOCK_MONOTONIC, by two moments around or near them. */
static inline uint64_t call_clock_ns(uint64_t ticks, const struct call_moment *a,
                                     const struct call_moment *b)
{
    double rate = b->ticks > a->ticks && b->ns > a->ns
                      ? (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks)
                      : 1;

    return a->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - a->ticks) * rate);
}

#endif
