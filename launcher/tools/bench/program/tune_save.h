/* SPDX-License-Identifier: MIT */
/* tune_save.h: --save FILE, the file that `mlaunch --tuning FILE` reads. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_SAVE_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_TUNE_SAVE_H

#include "launcher/tools/bench/measure/bench_setup.h"

/* Puts `value`, as MLAUNCH_ALGO has it, with the jobs for which it was measured, before the lines
 * of the file, because the first that fits decides; comments at its top stay there. Removes a line
 * of the same operation for the same jobs. The file need not be there. ML_ERR_ARGUMENT,
 * ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int tune_save(const char *path, const struct bench_options *o, const struct bench_setup *s,
              const char *value, struct fault *why);

#endif
