/* SPDX-License-Identifier: MIT */
/*
 * measure.h: times an operation at one size. A barrier precedes each iteration, and each rank times
 * its own call. The time of an iteration is the maximum over the ranks, which is computed after the
 * last iteration, so that it disturbs none.
 */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_MEASURE_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_MEASURE_H

#include "launcher/tools/bench/measure/bench_case.h"
#include "launcher/tools/bench/measure/result_bits.h"

struct bench_result {
    size_t bytes, count;
    double *us; /* owned: of each iteration; for lat, bw and one-sided operations, of one message */
    int iterations;
    double min_us, p25_us, median_us, p75_us, p99_us;
    double algorithm_gbps, bus_gbps; /* 10^9 bytes per second, of the median */
    double messages_per_s;           /* for one-sided operations, with the same number in flight as
                                      * bw */
    uint64_t errors;                 /* on all ranks; with --check */
    unsigned char bits[BENCH_BITS];  /* a hash of all ranks' results, at rank 0; with
                                      * --check-bits */
};

/* Measures one size; all ranks of the job call it. *out is set on success only; free it with
 * measure_clear(). Returns the ML_ERR_* of a call that failed at this rank. */
int measure_size(struct bench_result *out, const struct bench_options *o, ml_group *world,
                 size_t size, struct fault *why);
void measure_clear(struct bench_result *r);

#endif
