/* SPDX-License-Identifier: MIT */
/* bench_report.h: the results as a table with a chart, as CSV or as JSON, on stdout. */
#ifndef LAUNCHER_BENCH_BENCH_REPORT_H
#define LAUNCHER_BENCH_BENCH_REPORT_H

#include "launcher/bench/measure.h"

void bench_report_begin(const struct bench_options *o, int ranks);
void bench_report_add(const struct bench_options *o, int ranks, const struct bench_result *r,
                      bool is_first);
void bench_report_end(const struct bench_options *o, const struct bench_result *all, int count);

#endif
