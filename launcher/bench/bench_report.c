/* SPDX-License-Identifier: MIT */
#include "launcher/bench/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 50 };

/* An iteration that takes at least this many times the median is flagged. */
static const double outlier = 3;

static const char *type_of(const struct bench_options *o)
{
    return o->kind == BENCH_BARRIER ? "" : bench_options_type_name(o->type);
}

static void table_begin(const struct bench_options *o, int ranks)
{
    printf("# %s, %d %s", bench_options_kind_name(o->kind), ranks, ranks == 1 ? "rank" : "ranks");
    if (bench_options_kind_reduces(o->kind))
        printf(", %s of %s", bench_options_op_name(o->op), bench_options_type_name(o->type));
    printf(": times in us, bandwidths in GB/s (10^9 bytes)\n"
           "#%12s %12s %10s %10s %10s %9s %9s %8s\n",
           "bytes", "count", "min", "median", "p99", "algbw", "busbw", "errors");
}

/* The time of an iteration, as a multiple of the median. */
static double times_median(const struct bench_result *r, int i)
{
    return r->median_us > 0 ? r->us[i] / r->median_us : 0;
}

static void table_rounds(const struct bench_options *o, const struct bench_result *r)
{
    for (int i = 0; o->stress && i < r->iterations; i++) {
        double times = times_median(r, i);

        printf("  round %d: %.2f us", i + 1, r->us[i]);
        if (times >= outlier)
            printf("  outlier: %.1f times the median", times);
        puts("");
    }
}

static void table_row(const struct bench_options *o, const struct bench_result *r)
{
    table_rounds(o, r);
    printf("%13zu %12zu %10.2f %10.2f %10.2f %9.3f %9.3f ", r->bytes, r->count, r->min_us,
           r->median_us, r->p99_us, r->algorithm_gbps, r->bus_gbps);
    if (o->check)
        printf("%8" PRIu64 "\n", r->errors);
    else
        printf("%8s\n", "-");
}

/* Prints the bus bandwidths as bars. */
static void table_end(const struct bench_result *all, int count)
{
    double most = 0;

    for (int i = 0; i < count; i++)
        most = all[i].bus_gbps > most ? all[i].bus_gbps : most;
    if (count < 2 || most <= 0)
        return;
    puts("#");
    for (int i = 0; i < count; i++) {
        char bar[BAR + 1] = "";

        memset(bar, '#', (size_t)(all[i].bus_gbps / most * BAR + 0.5));
        printf("# %11zu |%-*s %.3f\n", all[i].bytes, BAR, bar, all[i].bus_gbps);
    }
}

/* With --stress: one row per round. */
static void csv_rounds(const struct bench_options *o, int ranks, const struct bench_result *r)
{
    for (int i = 0; i < r->iterations; i++)
        printf("%s,%zu,%zu,%s,%d,%d,%.3f,%d\n", bench_options_kind_name(o->kind), r->bytes,
               r->count, type_of(o), ranks, i + 1, r->us[i], times_median(r, i) >= outlier);
}

static void csv_row(const struct bench_options *o, int ranks, const struct bench_result *r)
{
    printf("%s,%zu,%zu,%s,%d,%.3f,%.3f,%.3f,%.6f,%.6f,", bench_options_kind_name(o->kind), r->bytes,
           r->count, type_of(o), ranks, r->min_us, r->median_us, r->p99_us, r->algorithm_gbps,
           r->bus_gbps);
    if (o->check)
        printf("%" PRIu64, r->errors);
    puts("");
}

/* With --stress: all rounds, and the numbers of the outliers. */
static void json_rounds(const struct bench_result *r)
{
    const char *comma = "";

    printf(", \"rounds_us\": [");
    for (int i = 0; i < r->iterations; i++)
        printf("%s%.3f", i ? ", " : "", r->us[i]);
    printf("], \"outliers\": [");
    for (int i = 0; i < r->iterations; i++) {
        if (times_median(r, i) < outlier)
            continue;
        printf("%s%d", comma, i + 1);
        comma = ", ";
    }
    printf("]");
}

static void json_row(const struct bench_options *o, const struct bench_result *r, bool is_first)
{
    printf("%s\n  {\"bytes\": %zu, \"count\": %zu, \"iterations\": %d, \"time_us_min\": %.3f, "
           "\"time_us_med\": %.3f, \"time_us_p99\": %.3f, \"algbw_GBps\": %.6f, \"busbw_GBps\": "
           "%.6f, \"errors\": ",
           is_first ? "" : ",", r->bytes, r->count, r->iterations, r->min_us, r->median_us,
           r->p99_us, r->algorithm_gbps, r->bus_gbps);
    if (o->check)
        printf("%" PRIu64, r->errors);
    else
        printf("null");
    if (o->stress)
        json_rounds(r);
    printf("}");
}

void bench_report_begin(const struct bench_options *o, int ranks)
{
    if (o->form == BENCH_TABLE)
        table_begin(o, ranks);
    else if (o->form == BENCH_CSV)
        puts(o->stress ? "op,bytes,count,type,ranks,round,time_us,outlier"
                       : "op,bytes,count,type,ranks,time_us_min,time_us_med,time_us_p99,algbw_GBps,"
                         "busbw_GBps,errors");
    else
        printf("{\"op\": \"%s\", \"type\": \"%s\", \"ranks\": %d, \"results\": [",
               bench_options_kind_name(o->kind), type_of(o), ranks);
    fflush(stdout);
}

void bench_report_add(const struct bench_options *o, int ranks, const struct bench_result *r,
                      bool is_first)
{
    if (o->form == BENCH_TABLE)
        table_row(o, r);
    else if (o->form == BENCH_CSV)
        (o->stress ? csv_rounds : csv_row)(o, ranks, r);
    else
        json_row(o, r, is_first);
    fflush(stdout);
}

void bench_report_end(const struct bench_options *o, const struct bench_result *all, int count)
{
    if (o->form == BENCH_TABLE)
        table_end(all, count);
    else if (o->form == BENCH_JSON)
        puts("]}");
    fflush(stdout);
}
