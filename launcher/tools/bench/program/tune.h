/* SPDX-License-Identifier: MIT */
/* tune.h: --tune measures every algorithm of an operation at every size, and prints where each is
 * the fastest. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_H

#include "launcher/tools/bench/measure/bench_setup.h"

/* Joins and leaves the job once for each algorithm, because ml_init() reads MLAUNCH_ALGO. Rank 0
 * prints. The caller must not have joined. */
int tune_run(const struct bench_options *o, struct fault *why);

/* --save FILE, the file that `mlaunch --tuning FILE` reads. Puts `value`, as MLAUNCH_ALGO has it,
 * with the jobs for which it was measured, before the lines of the file, because the first that
 * fits decides; comments at its top stay there. Removes a line of the same operation for the same
 * jobs. The file need not be there. ML_ERR_ARGUMENT, ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int tune_save(const char *path, const struct bench_options *o, const struct bench_setup *s,
              const char *value, struct fault *why);

#endif
