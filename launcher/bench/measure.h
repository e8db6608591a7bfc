/* SPDX-License-Identifier: MIT */
/*
 * measure.h: the timing. Before each iteration stands a barrier; each rank times its own call; an iteration's time is the
 * maximum over the ranks, taken after the last one, so that it disturbs none.
 */
#ifndef LAUNCHER_BENCH_MEASURE_H
#define LAUNCHER_BENCH_MEASURE_H

#include "launcher/bench/bench_case.h"

struct bench_result {
    size_t bytes, count;
    double *us; /* per iteration, in their order, of one message where one is meant */
    int iterations;
    double min_us, median_us, p99_us;
    double algorithm_gbps, bus_gbps; /* 10^9 bytes a second, by the median */
    uint64_t errors;                 /* of all ranks; with --check */
};

/* ML_ERR_* with a sentence if a call failed at this rank. */
int measure_size(struct bench_result *out, const struct bench_options *o, ml_group *world,
                 size_t size, struct fault *why);
void measure_clear(struct bench_result *r);

#endif
