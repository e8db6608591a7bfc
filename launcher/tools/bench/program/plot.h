/* SPDX-License-Identifier: MIT */
/* plot.h: draws the results as SVG: by size, the median times with their range from the least to
 * the 99th percentile, and the bus bandwidths. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_PLOT_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_PLOT_H

#include "launcher/tools/bench/measure/bench_setup.h"
#include "launcher/tools/bench/measure/measure.h"

/* Writes the whole file or nothing; it replaces a file of that name. ML_ERR_ARGUMENT: no result can
 * be drawn. ML_ERR_SYSTEM. */
int plot_write(const char *path, const struct bench_options *o, const struct bench_setup *s,
               const struct bench_result *all, int count, struct fault *why);

#endif
