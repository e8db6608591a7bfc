/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/measure.h"

#include "common/clock.h"
#include "launcher/tools/bench/measure/pattern.h"

#include <stdlib.h>
#include <string.h>

enum {
    WARM_UP = 3,
    BUDGET_US = 300 * 1000, /* for one size */
    ITERATIONS_LEAST = 10,
    ITERATIONS_MOST = 2000,
};

/* Runs one iteration and stores its time at this rank. */
static int iteration_run(struct bench_case *c, double *us, struct fault *why)
{
    int64_t begin;
    int rc = ml_barrier(c->world);

    begin = clock_ns();
    if (!rc)
        rc = bench_case_run(c);
    *us = (double)(clock_ns() - begin) / 1000;
    return bench_case_call(why, rc);
}

/* Chooses as many iterations as fit in the budget, by the time of the last warm-up. All ranks
 * choose the same number. */
static int iterations_choose(struct bench_case *c, int *iterations, struct fault *why)
{
    double us = 0, most_us = 0;
    int rc = 0;

    for (int i = 0; i < WARM_UP && !rc; i++)
        rc = iteration_run(c, &us, why);
    if (!rc)
        rc = bench_case_call(why, ml_all_reduce(c->world, &us, &most_us, 1, ML_FLOAT64, ML_MAX));
    *iterations =
        most_us * ITERATIONS_MOST < BUDGET_US ? ITERATIONS_MOST : (int)(BUDGET_US / most_us);
    if (*iterations < ITERATIONS_LEAST)
        *iterations = ITERATIONS_LEAST;
    if (c->options->stress)
        *iterations = c->options->stress;
    return rc;
}

/* Right after the start of a job its processes still move between processors and its connections
 * are new. So the first size runs the same number of iterations before it is measured. */
static int first_warm_up(struct bench_case *c, int iterations, struct fault *why)
{
    static bool is_warm;
    double us;
    int rc = 0;

    for (int i = 0; i < iterations && !is_warm && !c->options->stress && !rc; i++)
        rc = iteration_run(c, &us, why);
    is_warm = true;
    return rc;
}

static int iterations_time(struct bench_case *c, struct bench_result *r, struct fault *why)
{
    double *mine = calloc((size_t)r->iterations, sizeof(*mine));
    int rc = 0;

    r->us = calloc((size_t)r->iterations, sizeof(*r->us));
    if (!mine || !r->us)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < r->iterations && !rc; i++)
        rc = iteration_run(c, &mine[i], why);
    if (!rc)
        rc = bench_case_call(
            why, ml_all_reduce(c->world, mine, r->us, (size_t)r->iterations, ML_FLOAT64, ML_MAX));
    free(mine);
    return rc;
}

static int double_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int times_summarize(struct bench_result *r, struct fault *why)
{
    size_t n = (size_t)r->iterations;
    double *sorted = malloc(n * sizeof(*sorted));

    if (!sorted)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    memcpy(sorted, r->us, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), double_compare);
    r->min_us = sorted[0];
    r->median_us = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    r->p25_us = sorted[(n * 25 + 99) / 100 - 1];
    r->p75_us = sorted[(n * 75 + 99) / 100 - 1];
    r->p99_us = sorted[(n * 99 + 99) / 100 - 1];
    free(sorted);
    return 0;
}

/* The bytes that any algorithm must move over the slowest link, for each byte of the operation:
 * nccl-tests, doc/PERFORMANCE.md. */
static double bus_factor(enum bench_kind kind, int ranks)
{
    switch (kind) {
    case BENCH_ALL_REDUCE:
        return 2.0 * (ranks - 1) / ranks;
    case BENCH_ALL_GATHER:
    case BENCH_REDUCE_SCATTER:
    case BENCH_GATHER:
    case BENCH_SCATTER:
    case BENCH_ALL_TO_ALL:
        return (double)(ranks - 1) / ranks;
    default:
        return 1;
    }
}

/* The messages of one call: lat and bw report the time of one. */
static double messages_of(const struct bench_case *c)
{
    switch (c->options->kind) {
    case BENCH_LAT:
        return 2;
    case BENCH_BW:
        return c->window;
    default:
        return 1;
    }
}

static int result_check(struct bench_case *c, struct bench_result *r, struct fault *why)
{
    uint64_t mine = 0;
    int rc = 0;

    if (c->options->check)
        rc = pattern_check(c, &mine, why);
    if (!rc && c->options->check)
        rc = bench_case_call(why, ml_all_reduce(c->world, &mine, &r->errors, 1, ML_UINT64, ML_SUM));
    if (!rc && c->options->check_bits)
        rc = result_bits_take(c, r->bits, why);
    return rc;
}

/* Measures one-sided operations with many in flight, of which the bandwidth and the number of
 * messages are. */
static int rate_measure(struct bench_case *c, struct bench_result *out, int window,
                        struct fault *why)
{
    struct bench_result r = {0};
    int rc;

    c->window = window;
    rc = iterations_choose(c, &r.iterations, why);
    if (!rc)
        rc = iterations_time(c, &r, why);
    if (!rc)
        rc = times_summarize(&r, why);
    if (!rc && r.median_us > 0) {
        out->messages_per_s = window / r.median_us * 1e6;
        out->algorithm_gbps = (double)c->bytes * window / r.median_us / 1000;
    }
    measure_clear(&r);
    return rc;
}

int measure_size(struct bench_result *out, const struct bench_options *o, ml_group *world,
                 size_t size, struct fault *why)
{
    struct bench_result r = {0};
    bool is_one_sided = bench_options_kind_is_one_sided(o->kind);
    struct bench_case c;
    int rc = bench_case_open(&c, o, world, size, why), window;

    if (rc)
        return rc;
    window = c.window;
    if (is_one_sided)
        c.window = 1;
    r.bytes = c.bytes;
    r.count = c.count;
    rc = pattern_fill(&c, why); /* also touches the pages before anything is timed */
    if (!rc)
        rc = iterations_choose(&c, &r.iterations, why);
    if (!rc)
        rc = first_warm_up(&c, r.iterations, why);
    if (!rc)
        rc = iterations_time(&c, &r, why);
    for (int i = 0; i < r.iterations && !rc; i++)
        r.us[i] /= messages_of(&c);
    if (!rc)
        rc = result_check(&c, &r, why);
    if (!rc)
        rc = times_summarize(&r, why);
    if (!rc && r.median_us > 0)
        r.algorithm_gbps = (double)r.bytes / r.median_us / 1000;
    if (!rc && is_one_sided)
        rc = rate_measure(&c, &r, window, why);
    r.bus_gbps = r.algorithm_gbps * bus_factor(o->kind, c.ranks);
    bench_case_close(&c);
    if (rc)
        measure_clear(&r);
    else
        *out = r;
    return rc;
}

void measure_clear(struct bench_result *r)
{
    free(r->us);
    r->us = NULL;
}
