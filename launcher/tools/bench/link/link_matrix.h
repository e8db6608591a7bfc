/* SPDX-License-Identifier: MIT */
/* link_matrix.h: prints the latencies or bandwidths of all pairs as a matrix, in which worse ones
 * stand out: by a mark, and on a terminal by colour too. */
#ifndef LAUNCHER_TOOLS_BENCH_LINK_LINK_MATRIX_H
#define LAUNCHER_TOOLS_BENCH_LINK_LINK_MATRIX_H

#include "launcher/tools/bench/link/link_result.h"

/* Prints nothing if nothing was measured. */
void link_matrix_print(const struct link_result *r, bool is_latency);

#endif
