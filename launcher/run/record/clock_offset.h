/* SPDX-License-Identifier: MIT */
/*
 * clock_offset.h: how far another host's clock is ahead of this one's, by round trips: it says its
 * time in between. The truth lies within half of the shortest round trip. Two measurements, of the
 * first and of the latest trips, show how the clocks drift apart.
 */
#ifndef LAUNCHER_RUN_RECORD_CLOCK_OFFSET_H
#define LAUNCHER_RUN_RECORD_CLOCK_OFFSET_H

#include <stdint.h>

enum { CLOCK_OFFSET_TRIPS = 8 /* the shortest is a measurement */ };

/* A measurement: at our time `at_ns` the other clock was `ahead_ns` ahead, give or take half of
 * `round_ns`. */
struct clock_trip {
    int64_t at_ns, ahead_ns, round_ns;
};

/* Begins as {0}: the clocks are equal. */
struct clock_offset {
    int trips;
    struct clock_trip first, last; /* last: of the last CLOCK_OFFSET_TRIPS, or of those before */
    struct clock_trip next;        /* the shortest since */
};

/* A trip that began and ended at our times; `theirs`: the other host's in between. */
void clock_offset_add(struct clock_offset *c, int64_t began_ns, int64_t ended_ns, int64_t theirs);

/* The other host's time as ours. */
uint64_t clock_offset_ours(const struct clock_offset *c, uint64_t theirs_ns);

/* How far that may be wrong. */
int64_t clock_offset_error_ns(const struct clock_offset *c);

#endif
