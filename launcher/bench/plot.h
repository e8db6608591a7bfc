/* SPDX-License-Identifier: MIT */
/* plot.h: the results as a picture, SVG: median times with their span from the least to the 99th percentile, and bus
 * bandwidths, by size. */
#ifndef LAUNCHER_BENCH_PLOT_H
#define LAUNCHER_BENCH_PLOT_H

#include "launcher/bench/measure.h"

/* Whether a file can be made there, said before anything is measured. */
int plot_check(const char *path, struct fault *why);

/* Writes the file, whole or not at all; it replaces one of that name. */
int plot_write(const char *path, const struct bench_options *o, int ranks,
               const struct bench_result *all, int count, struct fault *why);

#endif
