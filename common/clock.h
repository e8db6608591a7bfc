/* SPDX-License-Identifier: MIT */
/* clock.h: monotonic time, and waiting until a moment of it. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds since a fixed moment, without those for which this process was stopped in
 * clock_poll(): it may step back then, once. For deadlines, and times since something began. */
int64_t clock_ms(void);
int64_t clock_ns(void); /* the system's clock */

/* The moment of the monotonic clock in `ns` from now, for pthread_cond_timedwait(). */
struct timespec clock_after(int64_t ns);

/* Milliseconds until `deadline_ms` (clock_ms), at least 0 and at most INT_MAX, for poll(). */
int clock_left_ms(int64_t deadline_ms);

/* poll() until `deadline_ms` (clock_ms; -1: for ever). Where it returns seconds too late, the
 * process was stopped (Ctrl-Z) or had no processor: this time counts against none of its deadlines.
 */
int clock_poll(struct pollfd *polls, nfds_t count, int64_t deadline_ms);

#endif
