/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_report.h"

#include "common/text/text_json.h"
#include "launcher/tools/bench/measure/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const way_names[PAIR_WAYS] = {"latency_us", "there_GBps", "back_GBps",
                                                 "both_GBps"};

/* "all", or the number of a rail. Returns `text`. */
static const char *rail_text(const struct pair_row *row, char text[16])
{
    if (row->rail == PAIR_ALL_RAILS)
        strcpy(text, "all");
    else
        snprintf(text, 16, "%d", row->rail);
    return text;
}

/* 10^6 messages per second, one way. */
static double messages_of(const struct pair_row *row)
{
    double us = row->ways[PAIR_THERE].typical;

    return us > 0 ? 1 / us : 0;
}

/* A time as that way's value: a latency itself, or the bandwidth. */
static double way_value(const struct pair_row *row, int way, double us)
{
    return way == PAIR_LATENCY ? us : pair_result_gbps(row, (enum pair_way)way, us);
}

static double typical_gbps(const struct pair_row *row, enum pair_way way)
{
    return pair_result_gbps(row, way, row->ways[way].typical);
}

/* --- table ------------------------------------------------------------------------------------ */

enum table_value {
    VALUE_RAIL,
    VALUE_BYTES,
    VALUE_MIN,
    VALUE_TYPICAL,
    VALUE_MEAN,
    VALUE_STDEV,
    VALUE_P99,
    VALUE_P999,
    VALUE_MAX,
    VALUE_THERE,
    VALUE_BACK,
    VALUE_BOTH,
    VALUE_PEAK,
    VALUE_MESSAGES,
    VALUE_ERRORS,
    VALUES,
};

/* In the order of the table. Where a terminal is too narrow those with the greatest `leaves` are
 * left out first; 0: never. */
static const struct table_column {
    const char *title;
    int width, leaves;
} columns[VALUES] = {
    [VALUE_RAIL] = {"rail", 4, 0},     [VALUE_BYTES] = {"#bytes", 9, 0},
    [VALUE_MIN] = {"t_min", 9, 5},     [VALUE_TYPICAL] = {"t_typical", 9, 0},
    [VALUE_MEAN] = {"t_avg", 9, 9},    [VALUE_STDEV] = {"t_stdev", 9, 8},
    [VALUE_P99] = {"99%", 9, 2},       [VALUE_P999] = {"99.9%", 9, 4},
    [VALUE_MAX] = {"t_max", 9, 3},     [VALUE_THERE] = {"BW there", 8, 0},
    [VALUE_BACK] = {"BW back", 8, 0},  [VALUE_BOTH] = {"BW both", 8, 1},
    [VALUE_PEAK] = {"BW peak", 8, 7},  [VALUE_MESSAGES] = {"Mmsg/s", 8, 6},
    [VALUE_ERRORS] = {"errors", 6, 0},
};
enum { LEAVES_MOST = 9, NAME_LEAST = 8 };

/* The rail is left out on a terminal if it is "all" in each row. */
static bool column_is_shown(const struct pair_result *r, int limit, int column)
{
    return columns[column].leaves <= limit &&
           (column != VALUE_RAIL || r->has_rails || !r->options->columns);
}

/* The width of all columns but the names. */
static int values_width(const struct pair_result *r, int limit)
{
    int width = 0;

    for (int i = 0; i < VALUES; i++) {
        if (column_is_shown(r, limit, i))
            width += 1 + columns[i].width;
    }
    return width;
}

/* The length of the longest name, or of "# from". On a terminal, less if not even the columns that
 * are never left out would have room beside it. */
static int name_width(const struct pair_result *r)
{
    int width = 6, room = (r->options->columns - 1 - values_width(r, 0)) / 2;

    for (int i = 0; i < r->end_count; i++)
        if ((int)strlen(r->ends[i].name) > width)
            width = (int)strlen(r->ends[i].name);
    if (r->options->columns && width > room)
        width = room > NAME_LEAST ? room : NAME_LEAST;
    return width;
}

/* A name that is too long loses its middle: "gpu-no..e-17". */
static void name_print(const char *name, int width)
{
    int size = (int)strlen(name), begin = (width - 2) / 2;

    if (size <= width)
        printf("%-*s ", width, name);
    else
        printf("%.*s..%s ", begin, name, name + size - (width - 2 - begin));
}

/* Columns with a greater `leaves` than this are left out. */
static int table_limit(const struct pair_result *r)
{
    int limit = LEAVES_MOST;

    for (; r->options->columns && limit > 0; limit--) {
        if (2 * name_width(r) + 1 + values_width(r, limit) <= r->options->columns)
            break;
    }
    return limit;
}

static void table_begin(const struct pair_result *r)
{
    int pairs = r->end_count * (r->end_count - 1) / 2, limit = table_limit(r);

    bench_report_heading(r->options, &r->setup);
    printf(": %d %s in %d %s\n"
           "# latencies in us (half of there and back), bandwidths in GB/s (10^9 bytes)\n",
           pairs, pairs == 1 ? "pair" : "pairs", r->turns, r->turns == 1 ? "turn" : "turns");
    if (limit < LEAVES_MOST)
        puts("# (some columns are left out: --wide, --csv and --json have all)");
    printf("# %-*s %-*s", name_width(r) - 2, "from", name_width(r), "to");
    for (int i = 0; i < VALUES; i++) {
        if (column_is_shown(r, limit, i))
            printf(" %*s", columns[i].width, columns[i].title);
    }
    puts("");
}

static double value_of(const struct pair_row *row, int column)
{
    const struct time_summary *l = &row->ways[PAIR_LATENCY];
    const double values[VALUES] = {
        [VALUE_MIN] = l->min,
        [VALUE_TYPICAL] = l->typical,
        [VALUE_MEAN] = l->mean,
        [VALUE_STDEV] = l->stdev,
        [VALUE_P99] = l->p99,
        [VALUE_P999] = l->p999,
        [VALUE_MAX] = l->max,
        [VALUE_THERE] = typical_gbps(row, PAIR_THERE),
        [VALUE_BACK] = typical_gbps(row, PAIR_BACK),
        [VALUE_BOTH] = typical_gbps(row, PAIR_BOTH),
        [VALUE_PEAK] = pair_result_gbps(row, PAIR_THERE, row->ways[PAIR_THERE].min),
        [VALUE_MESSAGES] = messages_of(row),
    };

    return values[column];
}

static void value_print(const struct pair_result *r, const struct pair_row *row, int column)
{
    int width = columns[column].width;
    char rail[16];

    if (column == VALUE_RAIL)
        printf(" %*s", width, rail_text(row, rail));
    else if (column == VALUE_BYTES)
        printf(" %*zu", width, row->bytes);
    else if (column == VALUE_ERRORS && r->options->check)
        printf(" %*" PRIu64, width, row->errors);
    else if (column == VALUE_ERRORS)
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, column < VALUE_THERE ? 2 : 3, value_of(row, column));
}

static void table_row(const struct pair_result *r, const struct pair_row *row)
{
    int limit = table_limit(r);

    name_print(r->ends[row->from].name, name_width(r));
    name_print(r->ends[row->to].name, name_width(r));
    for (int i = 0; i < VALUES; i++) {
        if (column_is_shown(r, limit, i))
            value_print(r, row, i);
    }
    puts("");
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Round 0 stands for all. */
static void csv_begin_row(const struct pair_result *r, const struct pair_row *row, int round)
{
    char rail[16];

    bench_report_csv(r->ends[row->from].name);
    putchar(',');
    bench_report_csv(r->ends[row->to].name);
    printf(",%s,%zu,%d", rail_text(row, rail), row->bytes, round);
}

static void csv_row(const struct pair_result *r, const struct pair_row *row)
{
    for (int i = 0; r->options->is_verbose && i < r->options->rounds; i++) {
        const double *us = row->rounds[i];

        csv_begin_row(r, row, i + 1);
        printf(",,%.3f,,,,,,%.6f,%.6f,%.6f,,,,%s,%s\n", us[PAIR_LATENCY],
               pair_result_gbps(row, PAIR_THERE, us[PAIR_THERE]),
               pair_result_gbps(row, PAIR_BACK, us[PAIR_BACK]),
               pair_result_gbps(row, PAIR_BOTH, us[PAIR_BOTH]), r->setup.backend, r->setup.date);
    }
    csv_begin_row(r, row, 0);
    for (int i = VALUE_MIN; i <= VALUE_MESSAGES; i++)
        printf(",%.*f", i < VALUE_THERE ? 3 : 6, value_of(row, i));
    putchar(',');
    if (r->options->check)
        printf("%" PRIu64, row->errors);
    printf(",%s,%s\n", r->setup.backend, r->setup.date);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Bandwidths are least where times are greatest. */
static json_t *json_way(const struct pair_row *row, enum pair_way way)
{
    const struct time_summary *t = &row->ways[way];

    if (way == PAIR_LATENCY)
        return json_pack("{sf sf sf sf sf sf sf sf sf sI}", "min", t->min, "p25", t->p25, "typical",
                         t->typical, "mean", t->mean, "stdev", t->stdev, "p75", t->p75, "p99",
                         t->p99, "p99_9", t->p999, "max", t->max, "count", (json_int_t)t->count);
    return json_pack("{sf sf sf sf sf sI}", "peak", pair_result_gbps(row, way, t->min), "p25",
                     pair_result_gbps(row, way, t->p75), "typical",
                     pair_result_gbps(row, way, t->typical), "mean",
                     pair_result_gbps(row, way, t->mean), "p75", pair_result_gbps(row, way, t->p25),
                     "count", (json_int_t)t->count);
}

static json_t *json_rounds(const struct pair_result *r, const struct pair_row *row)
{
    json_t *rounds = json_array();

    for (int i = 0; i < r->options->rounds; i++) {
        json_t *round = json_object();

        for (int way = 0; way < PAIR_WAYS; way++)
            json_object_set_new(round, way_names[way],
                                json_real(way_value(row, way, row->rounds[i][way])));
        json_array_append_new(rounds, round);
    }
    return rounds;
}

static json_t *json_row(const struct pair_result *r, const struct pair_row *row)
{
    bool has_ports = row->ports[0][0] && row->ports[1][0];
    json_t *all =
        json_pack("{so so so so* so* sI}", "from", text_json(r->ends[row->from].name), "to",
                  text_json(r->ends[row->to].name), "rail",
                  row->rail == PAIR_ALL_RAILS ? json_null() : json_integer(row->rail), "from_port",
                  has_ports ? text_json(row->ports[0]) : NULL, "to_port",
                  has_ports ? text_json(row->ports[1]) : NULL, "bytes", (json_int_t)row->bytes);

    for (int way = 0; way < PAIR_WAYS; way++)
        json_object_set_new(all, way_names[way], json_way(row, (enum pair_way)way));
    json_object_set_new(all, "messages_per_s", json_integer((json_int_t)(messages_of(row) * 1e6)));
    json_object_set_new(all, "errors",
                        r->options->check ? json_integer((json_int_t)row->errors) : json_null());
    if (r->options->is_verbose)
        json_object_set_new(all, "rounds", json_rounds(r, row));
    return all;
}

/* --- all -------------------------------------------------------------------------------------- */

void pair_report_begin(const struct pair_result *r)
{
    if (r->options->form == BENCH_TABLE)
        table_begin(r);
    else if (r->options->form == BENCH_CSV)
        puts("from,to,rail,bytes,round,t_min,t_typical,t_avg,t_stdev,t_99,t_99_9,t_max,there_GBps,"
             "back_GBps,both_GBps,peak_GBps,Mmsg_per_s,errors,backend,date");
    else
        bench_report_json_begin(r->options, &r->setup);
    fflush(stdout);
}

void pair_report_round(const struct pair_result *r, const struct pair_row *row, int round)
{
    const double *us = row->rounds[round];

    if (!r->options->is_verbose || r->options->form != BENCH_TABLE)
        return;
    printf("#   %s > %s, %zu bytes, round %d of %d: t_typical %.2f, BW there %.3f, back %.3f, both "
           "%.3f\n",
           r->ends[row->from].name, r->ends[row->to].name, row->bytes, round + 1,
           r->options->rounds, us[PAIR_LATENCY], pair_result_gbps(row, PAIR_THERE, us[PAIR_THERE]),
           pair_result_gbps(row, PAIR_BACK, us[PAIR_BACK]),
           pair_result_gbps(row, PAIR_BOTH, us[PAIR_BOTH]));
    fflush(stdout);
}

void pair_report_add(const struct pair_result *r, const struct pair_row *row, bool is_first)
{
    if (r->options->form == BENCH_TABLE)
        table_row(r, row);
    else if (r->options->form == BENCH_CSV)
        csv_row(r, row);
    else
        bench_report_json_add(json_row(r, row), is_first);
    fflush(stdout);
}

void pair_report_end(const struct pair_result *r)
{
    if (r->options->form == BENCH_TABLE) {
        pair_matrix_print(r, true);
        pair_matrix_print(r, false);
    } else if (r->options->form == BENCH_JSON) {
        bench_report_json_end();
    }
    fflush(stdout);
}
