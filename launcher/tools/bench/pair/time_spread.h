/* SPDX-License-Identifier: MIT */
/* time_spread.h: any number of measured times in bounded memory: a histogram whose steps are 1/32
 * of the time, so that a percentile is right to 1.6 percent; the least, greatest and mean are
 * exact. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_TIME_SPREAD_H
#define LAUNCHER_TOOLS_BENCH_PAIR_TIME_SPREAD_H

#include <stdint.h>

enum { TIME_SPREAD_STEPS = 32 /* per power of two */, TIME_SPREAD_POWERS = 48 /* ns */ };

/* Begins as {0}. */
struct time_spread {
    uint64_t count;
    double least_us, most_us, sum, squares; /* in us */
    uint32_t steps[TIME_SPREAD_POWERS * TIME_SPREAD_STEPS];
};

/* What is reported of it, in us; all are doubles, so that it can be sent as such. */
struct time_summary {
    double count, min, p25, typical, mean, stdev, p75, p99, p999, max;
};
enum { TIME_SUMMARY_FIELDS = sizeof(struct time_summary) / sizeof(double) };

void time_spread_add(struct time_spread *s, double us);
struct time_summary time_spread_summarize(const struct time_spread *s);

#endif
