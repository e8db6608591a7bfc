/* SPDX-License-Identifier: MIT */
/* pair_bench.h: `mlaunch bench link`: every pair of hosts, and with RDMA every rail of each. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_BENCH_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_BENCH_H

#include "launcher/tools/bench/command/bench_options.h"

/* Joins and leaves the job; once more for each rail, as ml_init() reads MLAUNCH_RAIL. Rank 0
 * prints. The caller must not have joined. *world: after a failure the world, if the job is still
 * joined, else NULL. *errors, at rank 0: the wrong bytes at all ranks. */
int pair_bench_run(const struct bench_options *o, ml_group **world, uint64_t *errors,
                   struct fault *why);

#endif
