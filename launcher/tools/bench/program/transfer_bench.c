/* SPDX-License-Identifier: MIT */
/*
 * transfer_bench.c: tensors from a producer to a consumer, as a connector moves them: put into the
 * consumer's part of a window, with a signal behind it; the consumer answers when it has the data,
 * and again when it has compared digests. Each transfer has other data.
 */
#include "launcher/tools/bench/program/transfer_bench.h"

#include "common/clock.h"
#include "launcher/tools/bench/measure/bench_case.h"
#include "launcher/tools/bench/measure/bench_report.h"
#include "launcher/tools/bench/measure/measure.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- transfers -------------------------------------------------------------------------------- */

/* Where things are in each rank's part. */
enum {
    ARRIVED = 0,   /* a signal: transfers that have come to this rank */
    ANSWERED = 8,  /* a signal: twice the transfers of this rank that were answered */
    DIGEST = 16,   /* for what comes, by its producer */
    LANDING = 4096 /* what comes */
};
enum { DIGEST_SIZE = crypto_generichash_BYTES };

/* What a rank needs for one size, whether it produces or consumes. */
struct transfer_memory {
    const struct bench_options *options;
    size_t size;
    ml_window *window;
    ml_pool *pool;
    unsigned char *part;        /* this rank's of the window */
    unsigned char *block;       /* in the pool: what is put */
    unsigned char *data;        /* the program's own copy, with --mode copy; owned, or NULL */
    uint64_t arrived, answered; /* what this rank's signals have been so far */
};

/* Collective. Close it even after a failure. */
static int memory_open(struct transfer_memory *m, const struct bench_options *o, ml_group *world,
                       size_t size, struct fault *why)
{
    void *block = NULL;
    int rc;

    *m = (struct transfer_memory){.options = o, .size = size};
    rc = ml_pool_create(size, 0, &m->pool);
    if (!rc)
        rc = ml_pool_alloc(m->pool, size, &block);
    if (bench_case_call(why, rc))
        return rc;
    m->block = block;
    if (!o->is_zero_copy) {
        m->data = calloc(1, size);
        if (!m->data)
            return fault_set(why, ML_ERR_MEMORY, "out of memory for %zu bytes", size);
    }
    rc = bench_case_call(why, ml_window_create(world, NULL, LANDING + size, &m->window));
    if (rc)
        return rc;
    m->part = ml_window_memory(m->window, ml_rank(world), NULL);
    memset(m->block, 0, size); /* touched before anything is timed, as the landing place is */
    memset(m->part + LANDING, 0, size);
    return 0;
}

static void memory_close(struct transfer_memory *m)
{
    (void)ml_window_free(m->window); /* an error of it has been seen in a call before */
    ml_pool_destroy(m->pool);
    free(m->data);
    *m = (struct transfer_memory){0};
}

static void transfer_fill(unsigned char *data, size_t size, int number)
{
    uint64_t word = (uint64_t)number * 0x9e3779b97f4a7c15U + 1;

    for (size_t at = 0; at < size; at += sizeof(word)) {
        word = word * 6364136223846793005U + 1442695040888963407U;
        memcpy(data + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
    }
}

static void digest_make(unsigned char out[DIGEST_SIZE], const unsigned char *data, size_t size)
{
    crypto_generichash(out, DIGEST_SIZE, data, size, NULL, 0);
}

static int transfer_send(struct transfer_memory *m, int to, double *seconds)
{
    int64_t begin = clock_ns();
    int rc;

    if (m->data)
        memcpy(m->block, m->data, m->size);
    rc = ml_put_signal(m->window, m->block, m->size, to, LANDING, ARRIVED, 1);
    if (!rc)
        rc = ml_wait_signal(m->window, ANSWERED, ++m->answered, -1);
    *seconds += (double)(clock_ns() - begin) / 1e9;
    return rc ? rc : ml_wait_signal(m->window, ANSWERED, ++m->answered, -1);
}

/* Makes all transfers to rank `to`, after one that is not timed. *seconds: from the start of each
 * until the consumer has it. */
static int all_produce(struct transfer_memory *m, int to, double *seconds)
{
    unsigned char *source = m->data ? m->data : m->block, digest[DIGEST_SIZE];
    double first = 0; /* not told: both sides touch each other's memory for the first time */
    int rc = transfer_send(m, to, &first);

    for (int i = 0; i < m->options->transfers && !rc; i++) {
        transfer_fill(source, m->size, i);
        if (m->options->check) {
            digest_make(digest, source, m->size);
            rc = ml_put(m->window, digest, sizeof(digest), to, DIGEST);
        }
        if (!rc)
            rc = transfer_send(m, to, seconds);
    }
    return rc;
}

static int transfer_receive(struct transfer_memory *m, int from, bool check, uint64_t *failed)
{
    const unsigned char *got = m->part + LANDING;
    unsigned char digest[DIGEST_SIZE];
    int rc = ml_wait_signal(m->window, ARRIVED, ++m->arrived, -1);

    if (rc)
        return rc;
    if (m->data)
        got = memcpy(m->data, got, m->size);
    rc = ml_put_signal(m->window, NULL, 0, from, 0, ANSWERED, 1);
    if (rc)
        return rc;
    if (check) {
        digest_make(digest, got, m->size);
        *failed += memcmp(digest, m->part + DIGEST, sizeof(digest)) != 0;
    }
    return ml_put_signal(m->window, NULL, 0, from, 0, ANSWERED, 1);
}

/* Takes all transfers of rank `from`. *failed: how many were not what was sent. */
static int all_consume(struct transfer_memory *m, int from, uint64_t *failed)
{
    int rc = transfer_receive(m, from, false, failed);

    for (int i = 0; i < m->options->transfers && !rc; i++)
        rc = transfer_receive(m, from, m->options->check, failed);
    return rc;
}

/* --- reports ---------------------------------------------------------------------------------- */

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

/* --- all -------------------------------------------------------------------------------------- */

/* All ranks get the row. */
static int pair_run(struct transfer_memory *m, ml_group *world, struct transfer_row *r,
                    struct fault *why)
{
    double said[2] = {0, 0};
    int rank = ml_rank(world), rc = 0;

    if (rank == r->from)
        rc = all_produce(m, r->to, &r->seconds);
    else if (rank == r->to)
        rc = all_consume(m, r->from, &r->failed);
    said[0] = r->seconds;
    said[1] = (double)r->failed;
    if (!rc)
        rc = ml_all_reduce(world, said, said, 2, ML_FLOAT64, ML_SUM);
    r->seconds = said[0];
    r->failed = (uint64_t)said[1];
    return bench_case_call(why, rc);
}

static int size_run(const struct bench_options *o, ml_group *world, size_t bytes,
                    struct transfer_row *all, struct fault *why)
{
    int ranks = ml_size(world), pairs = ranks == 2 ? 1 : ranks * ranks;
    struct transfer_memory m;
    int rc = memory_open(&m, o, world, bytes, why);

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
    memory_close(&m);
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
