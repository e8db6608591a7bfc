/* SPDX-License-Identifier: MIT */
/* tune.h: --tune: every algorithm that an operation has, measured at every size, and where each is the fastest. */
#ifndef LAUNCHER_BENCH_TUNE_H
#define LAUNCHER_BENCH_TUNE_H

#include "launcher/bench/bench_options.h"

/* Joins the job anew for each algorithm, because MLAUNCH_ALGO is read then, and leaves it; rank 0 prints. The caller has
 * not joined. */
int tune_run(const struct bench_options *o, struct fault *why);

#endif
