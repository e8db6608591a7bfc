/* SPDX-License-Identifier: MIT */
/* pair_picture.h: draws the matrices of latencies and bandwidths as SVG. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_PICTURE_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_PICTURE_H

#include "launcher/tools/bench/pair/pair_result.h"

/* Writes the whole file or nothing; it replaces a file of that name. ML_ERR_ARGUMENT,
 * ML_ERR_SYSTEM. */
int pair_picture_write(const char *path, const struct pair_result *r, struct fault *why);

#endif
