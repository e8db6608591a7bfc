/* SPDX-License-Identifier: MIT */
/* tune.h: --tune measures every algorithm of an operation at every size, and prints where each is
 * the fastest. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_H

#include "launcher/tools/bench/command/bench_options.h"

/* Joins and leaves the job once for each algorithm, because ml_init() reads MLAUNCH_ALGO. Rank 0
 * prints. The caller must not have joined. */
int tune_run(const struct bench_options *o, struct fault *why);

#endif
