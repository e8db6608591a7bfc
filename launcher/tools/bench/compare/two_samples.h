/* SPDX-License-Identifier: MIT */
/* two_samples.h: whether two sets of measured values differ by more than noise. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_TWO_SAMPLES_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_TWO_SAMPLES_H

enum { TWO_SAMPLES_MOST = 20 /* values of each, so that all counts are exact */ };

/* Sorts `values`, and returns their median; `count` is at least 1. */
double two_samples_median(double *values, int count);

/* The two-sided Mann-Whitney test: the chance that two sets of `count` values are as far apart as
 * these, or farther, although both come from one source. Exact; equal values are regarded as half a
 * step each way. `count` is from 1 to TWO_SAMPLES_MOST. */
double two_samples_chance(const double *a, const double *b, int count);

#endif
