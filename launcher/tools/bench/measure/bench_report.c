/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/bench_report.h"

#include "common/text/text_json.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 50 };

/* What follows the columns of CSV that differ from row to row. */
#define CSV_SETUP ",reduction,backend,local,secure,hosts,memory,algorithm,version,date"

/* An iteration that takes at least this many times the median is flagged. */
static const double outlier = 3;

static const char *type_of(const struct bench_options *o)
{
    return o->kind == BENCH_BARRIER || o->kind == BENCH_TRANSFER || o->kind == BENCH_LINK
               ? ""
               : bench_options_type_name(o->type);
}

static bool has_bandwidth(const struct bench_options *o)
{
    return o->kind != BENCH_BARRIER;
}

static const char *reduction_of(const struct bench_options *o)
{
    return bench_options_kind_reduces(o->kind) ? bench_options_op_name(o->op) : "";
}

static const char *local_of(const struct bench_setup *s)
{
    return s->local_net ? "net" : "shm";
}

/* Lines of comment: the ranks and hosts, and what lies between them. */
void bench_report_heading(const struct bench_options *o, const struct bench_setup *s)
{
    char *hosts = bench_setup_hosts_text(s, 0);

    printf("# mlaunch %s, %s\n# hosts, with ranks: %s\n# backend %s%s%s, memory %s, algorithm "
           "%s\n# %s, %d %s",
           s->version, s->date, hosts ? hosts : "?", s->backend, s->local_net ? ", local net" : "",
           s->secure ? ", secure" : "", s->memory, s->algorithm, bench_options_kind_name(o->kind),
           s->ranks, s->ranks == 1 ? "rank" : "ranks");
    if (bench_options_kind_reduces(o->kind))
        printf(", %s of %s", bench_options_op_name(o->op), bench_options_type_name(o->type));
    free(hosts);
}

static void table_begin(const struct bench_options *o, const struct bench_setup *s)
{
    bool is_one_sided = bench_options_kind_is_one_sided(o->kind);

    bench_report_heading(o, s);
    printf(": times in us, bandwidths in GB/s (10^9 bytes)\n"
           "#%12s %12s %10s %10s %10s %9s %9s %8s\n",
           "bytes", "count", "min", is_one_sided ? "typical" : "median", "p99",
           is_one_sided ? "bw" : "algbw", is_one_sided ? "msg/s" : "busbw", "errors");
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
    printf("%13zu %12zu %10.2f %10.2f %10.2f ", r->bytes, r->count, r->min_us, r->median_us,
           r->p99_us);
    if (bench_options_kind_is_one_sided(o->kind))
        printf("%9.3f %9.0f ", r->algorithm_gbps, r->messages_per_s);
    else if (has_bandwidth(o))
        printf("%9.3f %9.3f ", r->algorithm_gbps, r->bus_gbps);
    else
        printf("%9s %9s ", "-", "-");
    if (o->check)
        printf("%8" PRIu64 "\n", r->errors);
    else
        printf("%8s\n", "-");
}

/* Prints the bus bandwidths as bars; for lat, which measures times, those. */
static void table_end(const struct bench_options *o, const struct bench_result *all, int count)
{
    bool is_time = o->kind == BENCH_LAT;
    double most = 0;

    for (int i = 0; i < count; i++)
        most = fmax(most, is_time ? all[i].median_us : all[i].bus_gbps);
    if (count < 2 || most <= 0)
        return;
    printf("#\n# %11s  %s\n", "bytes", is_time ? "median time in us" : "bus bandwidth in GB/s");
    for (int i = 0; i < count; i++) {
        double value = is_time ? all[i].median_us : all[i].bus_gbps;
        char bar[BAR + 1] = "";

        memset(bar, '#', (size_t)(value / most * BAR + 0.5));
        printf("# %11zu |%-*s %.*f\n", all[i].bytes, BAR, bar, is_time ? 2 : 3, value);
    }
}

void bench_report_csv(const char *text)
{
    if (!strpbrk(text, ",\"")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++)
        printf(*text == '"' ? "\"\"" : "%c", *text);
    putchar('"');
}

static void csv_setup(const struct bench_options *o, const struct bench_setup *s)
{
    char *hosts = bench_setup_hosts_text(s, 0);

    printf(",%s,%s,%s,%d,", reduction_of(o), s->backend, local_of(s), s->secure);
    bench_report_csv(hosts ? hosts : "");
    printf(",%s,", s->memory);
    bench_report_csv(s->algorithm);
    putchar(',');
    bench_report_csv(s->version);
    printf(",%s\n", s->date);
    free(hosts);
}

/* With --stress: one row per round. */
static void csv_rounds(const struct bench_options *o, const struct bench_setup *s,
                       const struct bench_result *r)
{
    for (int i = 0; i < r->iterations; i++) {
        printf("%s,%zu,%zu,%s,%d,%d,%.3f,%d", bench_options_kind_name(o->kind), r->bytes, r->count,
               type_of(o), s->ranks, i + 1, r->us[i], times_median(r, i) >= outlier);
        csv_setup(o, s);
    }
}

static void csv_row(const struct bench_options *o, const struct bench_setup *s,
                    const struct bench_result *r)
{
    printf("%s,%zu,%zu,%s,%d,%.3f,%.3f,%.3f,", bench_options_kind_name(o->kind), r->bytes, r->count,
           type_of(o), s->ranks, r->min_us, r->median_us, r->p99_us);
    if (has_bandwidth(o))
        printf("%.6f,%.6f,", r->algorithm_gbps, r->bus_gbps);
    else
        printf(",,");
    if (o->check)
        printf("%" PRIu64, r->errors);
    if (bench_options_kind_is_one_sided(o->kind))
        printf(",%.0f", r->messages_per_s);
    csv_setup(o, s);
}

/* With --stress: all rounds, and the numbers of the outliers. */
static void json_add_rounds(json_t *row, const struct bench_result *r)
{
    json_t *rounds = json_array(), *outliers = json_array();

    for (int i = 0; i < r->iterations; i++) {
        json_array_append_new(rounds, json_real(r->us[i]));
        if (times_median(r, i) >= outlier)
            json_array_append_new(outliers, json_integer(i + 1));
    }
    json_object_set_new(row, "rounds_us", rounds);
    json_object_set_new(row, "outliers", outliers);
}

static json_t *json_figure(bool is_known, double figure)
{
    return is_known && isfinite(figure) ? json_real(figure) : json_null();
}

static json_t *json_row(const struct bench_options *o, const struct bench_result *r)
{
    json_t *row = json_pack("{sI sI si sf sf sf sf sf so so so}", "bytes", (json_int_t)r->bytes,
                            "count", (json_int_t)r->count, "iterations", r->iterations,
                            "time_us_min", r->min_us, "time_us_p25", r->p25_us, "time_us_med",
                            r->median_us, "time_us_p75", r->p75_us, "time_us_p99", r->p99_us,
                            "algbw_GBps", json_figure(has_bandwidth(o), r->algorithm_gbps),
                            "busbw_GBps", json_figure(has_bandwidth(o), r->bus_gbps), "errors",
                            o->check ? json_integer((json_int_t)r->errors) : json_null());

    if (bench_options_kind_is_one_sided(o->kind))
        json_object_set_new(row, "messages_per_s", json_integer((json_int_t)r->messages_per_s));
    if (o->stress)
        json_add_rounds(row, r);
    return row;
}

static json_t *json_setup(const struct bench_options *o, const struct bench_setup *s)
{
    json_t *hosts = json_array();

    for (int i = 0; i < s->host_count; i++)
        json_array_append_new(hosts, json_pack("{so si}", "host", text_json(s->hosts[i].name),
                                               "ranks", s->hosts[i].ranks));
    return json_pack("{ss ss si ss ss ss sb so ss so ss ss}", "op",
                     bench_options_kind_name(o->kind), "type", type_of(o), "ranks", s->ranks,
                     "reduction", reduction_of(o), "backend", s->backend, "local", local_of(s),
                     "secure", s->secure, "hosts", hosts, "memory", s->memory, "algorithm",
                     text_json(s->algorithm), "version", s->version, "date", s->date);
}

void bench_report_json_begin(const struct bench_options *o, const struct bench_setup *s)
{
    json_t *setup = json_setup(o, s);
    char *text = json_dumps(setup, 0);

    if (text)
        printf("%.*s, \"results\": [", (int)strlen(text) - 1, text); /* the brace comes later */
    free(text);
    json_decref(setup);
}

void bench_report_json_add(json_t *row, bool is_first)
{
    fputs(is_first ? "\n  " : ",\n  ", stdout);
    json_dumpf(row, stdout, JSON_REAL_PRECISION(9));
    json_decref(row);
}

void bench_report_json_end(void)
{
    puts("]}");
}

void bench_report_begin(const struct bench_options *o, const struct bench_setup *s)
{
    if (o->form == BENCH_TABLE)
        table_begin(o, s);
    else if (o->form == BENCH_CSV)
        printf("%s%s%s\n",
               o->stress ? "op,bytes,count,type,ranks,round,time_us,outlier"
                         : "op,bytes,count,type,ranks,time_us_min,time_us_med,time_us_p99,"
                           "algbw_GBps,busbw_GBps,errors",
               bench_options_kind_is_one_sided(o->kind) && !o->stress ? ",messages_per_s" : "",
               CSV_SETUP);
    else
        bench_report_json_begin(o, s);
    fflush(stdout);
}

void bench_report_add(const struct bench_options *o, const struct bench_setup *s,
                      const struct bench_result *r, bool is_first)
{
    if (o->form == BENCH_TABLE)
        table_row(o, r);
    else if (o->form == BENCH_CSV)
        (o->stress ? csv_rounds : csv_row)(o, s, r);
    else
        bench_report_json_add(json_row(o, r), is_first);
    fflush(stdout);
}

/* One hash of those of all sizes. */
static const char *bits_text(const struct bench_result *all, int count)
{
    static char text[2 * BENCH_BITS + 1];
    unsigned char sum[BENCH_BITS];
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, BENCH_BITS);
    for (int i = 0; i < count; i++)
        crypto_generichash_update(&state, all[i].bits, BENCH_BITS);
    crypto_generichash_final(&state, sum, BENCH_BITS);
    return sodium_bin2hex(text, sizeof(text), sum, sizeof(sum));
}

void bench_report_end(const struct bench_options *o, const struct bench_result *all, int count)
{
    if (o->form == BENCH_TABLE)
        table_end(o, all, count);
    if (o->form == BENCH_TABLE && o->check_bits)
        printf("# bits %s\n", bits_text(all, count));
    if (o->form == BENCH_JSON && o->check_bits)
        printf("], \"bits\": \"%s\"}\n", bits_text(all, count));
    else if (o->form == BENCH_JSON)
        bench_report_json_end();
    fflush(stdout);
}
