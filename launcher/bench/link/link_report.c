/* SPDX-License-Identifier: MIT */
#include "launcher/bench/link/link_report.h"

#include "launcher/bench/bench_report.h"
#include "launcher/bench/link/link_matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const way_names[PAIR_WAYS] = {"latency", "there", "back", "both"};

/* "all", or the number of a rail. Returns `text`. */
static const char *rail_text(const struct link_row *row, char text[16])
{
    if (row->rail == LINK_ALL_RAILS)
        strcpy(text, "all");
    else
        snprintf(text, 16, "%d", row->rail);
    return text;
}

/* 10^6 messages per second, one way. */
static double messages_of(const struct link_row *row)
{
    double us = row->ways[PAIR_THERE].typical;

    return us > 0 ? 1 / us : 0;
}

static double typical_gbps(const struct link_row *row, enum pair_way way)
{
    return link_result_gbps(row, way, row->ways[way].typical);
}

/* --- table ------------------------------------------------------------------------------------ */

/* Of the longest name, and of "# from". */
static int name_width(const struct link_result *r)
{
    int width = 6;

    for (int i = 0; i < r->end_count; i++)
        if ((int)strlen(r->ends[i].name) > width)
            width = (int)strlen(r->ends[i].name);
    return width;
}

static void table_begin(const struct link_result *r)
{
    int pairs = r->end_count * (r->end_count - 1) / 2;

    bench_report_heading(r->options, &r->setup);
    printf(": %d %s in %d %s\n"
           "# latencies in us (half of there and back), bandwidths in GB/s (10^9 bytes)\n"
           "# %-*s %-*s %4s %9s %9s %9s %9s %9s %9s %9s %9s %8s %8s %8s %8s %8s %6s\n",
           pairs, pairs == 1 ? "pair" : "pairs", r->turns, r->turns == 1 ? "turn" : "turns",
           name_width(r) - 2, "from", name_width(r), "to", "rail", "#bytes", "t_min", "t_typical",
           "t_avg", "t_stdev", "99%", "99.9%", "t_max", "BW there", "BW back", "BW both", "BW peak",
           "Mmsg/s", "errors");
}

static void table_row(const struct link_result *r, const struct link_row *row)
{
    const struct time_summary *l = &row->ways[PAIR_LATENCY];
    char rail[16];

    printf("%-*s %-*s %4s %9zu %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %8.3f %8.3f %8.3f "
           "%8.3f %8.3f ",
           name_width(r), r->ends[row->from].name, name_width(r), r->ends[row->to].name,
           rail_text(row, rail), row->bytes, l->min, l->typical, l->mean, l->stdev, l->p99, l->p999,
           l->max, typical_gbps(row, PAIR_THERE), typical_gbps(row, PAIR_BACK),
           typical_gbps(row, PAIR_BOTH),
           link_result_gbps(row, PAIR_THERE, row->ways[PAIR_THERE].min), messages_of(row));
    if (r->options->check)
        printf("%6" PRIu64 "\n", row->errors);
    else
        printf("%6s\n", "-");
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_text(const char *text)
{
    if (strpbrk(text, ",\"")) {
        putchar('"');
        for (; *text; text++)
            printf(*text == '"' ? "\"\"" : "%c", *text);
        putchar('"');
    } else {
        fputs(text, stdout);
    }
}

/* Round 0 stands for all. */
static void csv_begin_row(const struct link_result *r, const struct link_row *row, int round)
{
    char rail[16];

    csv_text(r->ends[row->from].name);
    putchar(',');
    csv_text(r->ends[row->to].name);
    printf(",%s,%zu,%d", rail_text(row, rail), row->bytes, round);
}

static void csv_row(const struct link_result *r, const struct link_row *row)
{
    const struct time_summary *l = &row->ways[PAIR_LATENCY];

    for (int i = 0; r->options->is_verbose && i < r->options->rounds; i++) {
        const double *us = row->rounds[i];

        csv_begin_row(r, row, i + 1);
        printf(",,%.3f,,,,,,%.6f,%.6f,%.6f,,,,%s,%s\n", us[PAIR_LATENCY],
               link_result_gbps(row, PAIR_THERE, us[PAIR_THERE]),
               link_result_gbps(row, PAIR_BACK, us[PAIR_BACK]),
               link_result_gbps(row, PAIR_BOTH, us[PAIR_BOTH]), r->setup.backend, r->setup.date);
    }
    csv_begin_row(r, row, 0);
    printf(",%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.6f,%.6f,%.6f,%.6f,%.6f,", l->min, l->typical,
           l->mean, l->stdev, l->p99, l->p999, l->max, typical_gbps(row, PAIR_THERE),
           typical_gbps(row, PAIR_BACK), typical_gbps(row, PAIR_BOTH),
           link_result_gbps(row, PAIR_THERE, row->ways[PAIR_THERE].min), messages_of(row));
    if (r->options->check)
        printf("%" PRIu64, row->errors);
    printf(",%s,%s\n", r->setup.backend, r->setup.date);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_text(const char *text)
{
    putchar('"');
    for (; *text; text++)
        printf(strchr("\"\\", *text) ? "\\%c" : "%c", *text);
    putchar('"');
}

/* Bandwidths are least where times are greatest. */
static void json_way(const struct link_row *row, enum pair_way way)
{
    const struct time_summary *t = &row->ways[way];

    if (way == PAIR_LATENCY)
        printf("\"latency_us\": {\"min\": %.3f, \"p25\": %.3f, \"typical\": %.3f, \"mean\": %.3f, "
               "\"stdev\": %.3f, \"p75\": %.3f, \"p99\": %.3f, \"p99_9\": %.3f, \"max\": %.3f, "
               "\"count\": %.0f}",
               t->min, t->p25, t->typical, t->mean, t->stdev, t->p75, t->p99, t->p999, t->max,
               t->count);
    else
        printf("\"%s_GBps\": {\"peak\": %.6f, \"p25\": %.6f, \"typical\": %.6f, \"mean\": %.6f, "
               "\"p75\": %.6f, \"count\": %.0f}",
               way_names[way], link_result_gbps(row, way, t->min),
               link_result_gbps(row, way, t->p75), link_result_gbps(row, way, t->typical),
               link_result_gbps(row, way, t->mean), link_result_gbps(row, way, t->p25), t->count);
}

static void json_rounds(const struct link_result *r, const struct link_row *row)
{
    printf(", \"rounds\": [");
    for (int i = 0; i < r->options->rounds; i++) {
        const double *us = row->rounds[i];

        printf("%s{\"latency_us\": %.3f, \"there_GBps\": %.6f, \"back_GBps\": %.6f, "
               "\"both_GBps\": %.6f}",
               i ? ", " : "", us[PAIR_LATENCY], link_result_gbps(row, PAIR_THERE, us[PAIR_THERE]),
               link_result_gbps(row, PAIR_BACK, us[PAIR_BACK]),
               link_result_gbps(row, PAIR_BOTH, us[PAIR_BOTH]));
    }
    printf("]");
}

static void json_row(const struct link_result *r, const struct link_row *row, bool is_first)
{
    printf(is_first ? "\n  {\"from\": " : ",\n  {\"from\": ");
    json_text(r->ends[row->from].name);
    printf(", \"to\": ");
    json_text(r->ends[row->to].name);
    if (row->rail == LINK_ALL_RAILS)
        printf(", \"rail\": null");
    else
        printf(", \"rail\": %d", row->rail);
    if (row->ports[0][0] && row->ports[1][0]) {
        printf(", \"from_port\": ");
        json_text(row->ports[0]);
        printf(", \"to_port\": ");
        json_text(row->ports[1]);
    }
    printf(", \"bytes\": %zu, ", row->bytes);
    for (int way = 0; way < PAIR_WAYS; way++) {
        json_way(row, (enum pair_way)way);
        printf(", ");
    }
    printf("\"messages_per_s\": %.0f, \"errors\": ", messages_of(row) * 1e6);
    if (r->options->check)
        printf("%" PRIu64, row->errors);
    else
        printf("null");
    if (r->options->is_verbose)
        json_rounds(r, row);
    printf("}");
}

/* --- all -------------------------------------------------------------------------------------- */

void link_report_begin(const struct link_result *r)
{
    if (r->options->form == BENCH_TABLE)
        table_begin(r);
    else if (r->options->form == BENCH_CSV)
        puts("from,to,rail,bytes,round,t_min,t_typical,t_avg,t_stdev,t_99,t_99_9,t_max,there_GBps,"
             "back_GBps,both_GBps,peak_GBps,Mmsg_per_s,errors,backend,date");
    else
        bench_report_begin(r->options, &r->setup);
    fflush(stdout);
}

void link_report_round(const struct link_result *r, const struct link_row *row, int round)
{
    const double *us = row->rounds[round];

    if (!r->options->is_verbose || r->options->form != BENCH_TABLE)
        return;
    printf("#   %s > %s, %zu bytes, round %d of %d: t_typical %.2f, BW there %.3f, back %.3f, both "
           "%.3f\n",
           r->ends[row->from].name, r->ends[row->to].name, row->bytes, round + 1,
           r->options->rounds, us[PAIR_LATENCY], link_result_gbps(row, PAIR_THERE, us[PAIR_THERE]),
           link_result_gbps(row, PAIR_BACK, us[PAIR_BACK]),
           link_result_gbps(row, PAIR_BOTH, us[PAIR_BOTH]));
    fflush(stdout);
}

void link_report_add(const struct link_result *r, const struct link_row *row, bool is_first)
{
    if (r->options->form == BENCH_TABLE)
        table_row(r, row);
    else if (r->options->form == BENCH_CSV)
        csv_row(r, row);
    else
        json_row(r, row, is_first);
    fflush(stdout);
}

void link_report_end(const struct link_result *r)
{
    if (r->options->form == BENCH_TABLE) {
        link_matrix_print(r, true);
        link_matrix_print(r, false);
    } else if (r->options->form == BENCH_JSON) {
        puts("]}");
    }
    fflush(stdout);
}
