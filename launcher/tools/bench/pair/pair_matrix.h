/* SPDX-License-Identifier: MIT */
/* pair_matrix.h: prints the latencies or bandwidths of all pairs as a matrix, in which worse ones
 * are marked, and on a terminal coloured. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_MATRIX_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_MATRIX_H

#include "launcher/tools/bench/pair/pair_result.h"

/* Prints nothing if nothing was measured. */
void pair_matrix_print(const struct pair_result *r, bool is_latency);

#endif
