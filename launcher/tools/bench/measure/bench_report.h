/* SPDX-License-Identifier: MIT */
/* bench_report.h: prints results to stdout as a table with a chart, as CSV or as JSON. Rank 0
 * calls. */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_REPORT_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_REPORT_H

#include "launcher/tools/bench/measure/bench_setup.h"
#include "launcher/tools/bench/measure/measure.h"

#include <jansson.h>

/* Prints lines of comment that say with what is measured, without the end of the last. Needs the
 * hosts' names in `s`, as all below do. */
void bench_report_heading(const struct bench_options *o, const struct bench_setup *s);

/* Prints a field of CSV, in quotes if it needs them. */
void bench_report_csv(const char *text);

/* The parts of JSON: the setup, rows of results, which are freed, and the end. */
void bench_report_json_begin(const struct bench_options *o, const struct bench_setup *s);
void bench_report_json_add(json_t *row, bool is_first);
void bench_report_json_end(void);

/* Prints what comes before the results. */
void bench_report_begin(const struct bench_options *o, const struct bench_setup *s);

/* Prints the result for one size and flushes it. */
void bench_report_add(const struct bench_options *o, const struct bench_setup *s,
                      const struct bench_result *r, bool is_first);

/* Prints what comes after the results: in the table, a chart of all `count` results. */
void bench_report_end(const struct bench_options *o, const struct bench_result *all, int count);

#endif
