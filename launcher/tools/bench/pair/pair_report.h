/* SPDX-License-Identifier: MIT */
/* pair_report.h: prints what was measured between pairs as a table, CSV or JSON. Rank 0 calls. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_REPORT_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_REPORT_H

#include "launcher/tools/bench/pair/pair_result.h"

void pair_report_begin(const struct pair_result *r);
/* With --verbose, in the table: prints a round of a pair, from 0, as soon as it has been made. */
void pair_report_round(const struct pair_result *r, const struct pair_row *row, int round);
/* Prints a row when all of its rounds have been made, and flushes it. */
void pair_report_add(const struct pair_result *r, const struct pair_row *row, bool is_first);
/* Prints what comes behind the rows: in the table, the matrices. */
void pair_report_end(const struct pair_result *r);

/* Prints the latencies or bandwidths of all pairs as a matrix, in which worse ones are marked, and
 * on a terminal coloured. Prints nothing if nothing was measured. */
void pair_matrix_print(const struct pair_result *r, bool is_latency);

/* Draws both matrices as SVG. Writes the whole file or nothing; it replaces a file of that name.
 * ML_ERR_ARGUMENT, ML_ERR_SYSTEM. */
int pair_picture_write(const char *path, const struct pair_result *r, struct fault *why);

#endif
