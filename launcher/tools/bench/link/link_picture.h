/* SPDX-License-Identifier: MIT */
/* link_picture.h: draws the matrices of latencies and bandwidths as SVG. */
#ifndef LAUNCHER_TOOLS_BENCH_LINK_LINK_PICTURE_H
#define LAUNCHER_TOOLS_BENCH_LINK_LINK_PICTURE_H

#include "launcher/tools/bench/link/link_result.h"

/* Writes the whole file or nothing; it replaces a file of that name. ML_ERR_ARGUMENT,
 * ML_ERR_SYSTEM. */
int link_picture_write(const char *path, const struct link_result *r, struct fault *why);

#endif
