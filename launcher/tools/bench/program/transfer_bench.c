/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/transfer_bench.h"

#include "launcher/tools/bench/measure/bench_report.h"
#include "launcher/tools/bench/measure/measure.h"
#include "launcher/tools/bench/program/transfer_pair.h"

#include <inttypes.h>
#include <stdio.h>

struct transfer_row {
    int from, to;
    size_t bytes;
    double seconds;
    uint64_t count, failed;
};

/* In 10^6 bytes, as connectors' own benchmarks have it. */
static double row_mbps(const struct transfer_row *r)
{
    return r->seconds > 0 ? (double)r->bytes * (double)r->count / r->seconds / 1e6 : 0;
}

static const char *mode_of(const struct bench_options *o)
{
    return o->is_zero_copy ? "zerocopy" : "copy";
}

static const char *check_of(const struct bench_options *o)
{
    return o->check ? "hash" : "none";
}

static void report_begin(const struct bench_options *o, const struct bench_setup *s)
{
    if (o->form == BENCH_TABLE) {
        bench_report_heading(o, s);
        printf(", mode %s, check %s: MB/s of 10^6 bytes\n"
               "#%5s %5s %13s %7s %10s %7s %10s %10s\n",
               mode_of(o), check_of(o), "from", "to", "bytes", "count", "successful", "failed",
               "MB/s", "seconds");
    } else if (o->form == BENCH_CSV) {
        puts("op,from,to,bytes,count,mode,check,successful,failed,MBps,seconds");
    } else {
        bench_report_json_begin(o, s);
    }
    fflush(stdout);
}

static void report_add(const struct bench_options *o, const struct transfer_row *r, bool is_first)
{
    uint64_t good = r->count - r->failed;

    if (o->form == BENCH_TABLE)
        printf("%6d %5d %13zu %7" PRIu64 " %10" PRIu64 " %7" PRIu64 " %10.1f %10.4f\n", r->from,
               r->to, r->bytes, r->count, good, r->failed, row_mbps(r), r->seconds);
    else if (o->form == BENCH_CSV)
        printf("transfer,%d,%d,%zu,%" PRIu64 ",%s,%s,%" PRIu64 ",%" PRIu64 ",%.3f,%.6f\n", r->from,
               r->to, r->bytes, r->count, mode_of(o), check_of(o), good, r->failed, row_mbps(r),
               r->seconds);
    else
        bench_report_json_add(
            json_pack("{si si sI sI ss ss sI sI sf sf}", "from", r->from, "to", r->to, "bytes",
                      (json_int_t)r->bytes, "count", (json_int_t)r->count, "mode", mode_of(o),
                      "check", check_of(o), "successful", (json_int_t)good, "failed",
                      (json_int_t)r->failed, "MBps", row_mbps(r), "seconds", r->seconds),
            is_first);
    fflush(stdout);
}

static void report_end(const struct bench_options *o, const struct transfer_row *all)
{
    if (o->form == BENCH_TABLE)
        printf("# successful %" PRIu64 ", failed %" PRIu64 ", %.1f MB/s, %.4f s\n",
               all->count - all->failed, all->failed, row_mbps(all), all->seconds);
    else if (o->form == BENCH_JSON)
        bench_report_json_end();
    fflush(stdout);
}

/* All ranks get the row. */
static int pair_run(struct transfer_memory *m, ml_group *world, struct transfer_row *r,
                    struct fault *why)
{
    double said[2] = {0, 0};
    int rank = ml_rank(world), rc = 0;

    if (rank == r->from)
        rc = transfer_pair_produce(m, r->to, &r->seconds);
    else if (rank == r->to)
        rc = transfer_pair_consume(m, r->from, &r->failed);
    said[0] = r->seconds;
    said[1] = (double)r->failed;
    if (!rc)
        rc = ml_all_reduce(world, said, said, 2, ML_FLOAT64, ML_SUM);
    r->seconds = said[0];
    r->failed = (uint64_t)said[1];
    return measure_call(why, rc);
}

static int size_run(const struct bench_options *o, ml_group *world, size_t bytes,
                    struct transfer_row *all, struct fault *why)
{
    int ranks = ml_size(world), pairs = ranks == 2 ? 1 : ranks * ranks;
    struct transfer_memory m;
    int rc = transfer_memory_open(&m, o, world, bytes, why);

    for (int i = 0; i < pairs && !rc; i++) {
        struct transfer_row r = {.from = i / ranks, .to = ranks == 2 ? 1 : i % ranks};

        if (r.from == r.to)
            continue;
        r.bytes = bytes;
        r.count = (uint64_t)o->transfers;
        rc = pair_run(&m, world, &r, why);
        if (!rc && ml_rank(world) == 0)
            report_add(o, &r, all->count == 0);
        /* If sizes differ, the row of the sums has their mean, weighted by count. */
        all->bytes =
            (size_t)(((double)all->bytes * (double)all->count + (double)bytes * (double)r.count) /
                     (double)(all->count + r.count));
        all->seconds += r.seconds;
        all->count += r.count;
        all->failed += r.failed;
    }
    transfer_memory_close(&m);
    return rc;
}

int transfer_bench_run(const struct bench_options *o, const struct bench_setup *s, ml_group *world,
                       uint64_t *errors, struct fault *why)
{
    struct transfer_row all = {0};
    int rc = 0;

    if (ml_rank(world) == 0)
        report_begin(o, s);
    for (int i = 0; i < o->size_count && !rc; i++)
        rc = size_run(o, world, (size_t)o->sizes[i], &all, why);
    if (!rc && ml_rank(world) == 0)
        report_end(o, &all);
    *errors = all.failed;
    return rc;
}
