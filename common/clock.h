/* SPDX-License-Identifier: MIT */
/* clock.h: monotonic time. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void); /* milliseconds since some fixed moment */
int64_t clock_ns(void);

/* Milliseconds left until `deadline_ms` (of clock_ms), at least 0, as poll() takes them. */
int clock_left_ms(int64_t deadline_ms);

#endif
