/* SPDX-License-Identifier: MIT */
/* clock.h: monotonic time. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t clock_ms(void); /* milliseconds since a fixed moment */
int64_t clock_ns(void);

/* The moment of the monotonic clock in `ns` from now, for pthread_cond_timedwait(). */
struct timespec clock_after(int64_t ns);

/* Milliseconds until `deadline_ms` (clock_ms), at least 0 and at most INT_MAX, for poll(). */
int clock_left_ms(int64_t deadline_ms);

#endif
