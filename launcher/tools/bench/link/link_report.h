/* SPDX-License-Identifier: MIT */
/* link_report.h: prints what was measured between pairs as a table, CSV or JSON. Rank 0 calls. */
#ifndef LAUNCHER_TOOLS_BENCH_LINK_LINK_REPORT_H
#define LAUNCHER_TOOLS_BENCH_LINK_LINK_REPORT_H

#include "launcher/tools/bench/link/link_result.h"

void link_report_begin(const struct link_result *r);
/* With --verbose, in the table: prints a round of a pair, from 0, as soon as it has been made. */
void link_report_round(const struct link_result *r, const struct link_row *row, int round);
/* Prints a row when all of its rounds have been made, and flushes it. */
void link_report_add(const struct link_result *r, const struct link_row *row, bool is_first);
/* Prints what comes behind the rows: in the table, the matrices. */
void link_report_end(const struct link_result *r);

#endif
