/* SPDX-License-Identifier: MIT */
/* transfer_bench.h: `mlaunch bench transfer`: rank 0 produces and rank 1 consumes; of more ranks,
 * each pair in turns, both ways. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_TRANSFER_BENCH_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_TRANSFER_BENCH_H

#include "launcher/tools/bench/measure/bench_setup.h"

/* All ranks call it; rank 0 prints. *errors, at all ranks: the transfers that failed. */
int transfer_bench_run(const struct bench_options *o, const struct bench_setup *s, ml_group *world,
                       uint64_t *errors, struct fault *why);

#endif
