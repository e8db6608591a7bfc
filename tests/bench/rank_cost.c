/* SPDX-License-Identifier: MIT */
/*
 * rank_cost.c: what a rank costs, for tests/bench/ranks. Rank 0 prints the number of ranks, the
 * slowest ml_init and barrier in ms, the most of the ranks' own memory (private pages) in KiB
 * before and after the calls, and the medians of all_reduces of 8 bytes and of 256 KiB in us, timed
 * as mlaunch bench does.
 */
#include <mlaunch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 2000, LEAST = 10, WARM_UP = 3, SHORT = 8, LONG = 256 * 1024 };
static const double budget_us = 300e3;

static void need(int rc)
{
    if (rc)
        ml_abort(2, ml_error());
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The pages that this process shares with no other. */
static double private_kib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double sum = 0, kib;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Private_Clean: %lf", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %lf", &kib) == 1)
            sum += kib;
    if (f)
        fclose(f);
    return sum;
}

static double most_of(ml_group *g, double mine)
{
    double most;

    need(ml_all_reduce(g, &mine, &most, 1, ML_FLOAT64, ML_MAX));
    return most;
}

static double once(ml_group *g, const float *in, float *out, size_t size)
{
    double begin;

    need(ml_barrier(g));
    begin = now_us();
    need(ml_all_reduce(g, in, out, size / sizeof(*in), ML_FLOAT32, ML_SUM));
    return now_us() - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(ml_group *g, const float *in, float *out, size_t size)
{
    static double mine[MOST], all[MOST];
    double last = 0, most;
    int n;

    for (int i = 0; i < WARM_UP; i++)
        last = once(g, in, out, size);
    most = most_of(g, last);
    n = most * MOST < budget_us ? MOST : (int)(budget_us / most);
    n = n < LEAST ? LEAST : n;
    for (int i = 0; i < n; i++)
        mine[i] = once(g, in, out, size);
    need(ml_all_reduce(g, mine, all, (size_t)n, ML_FLOAT64, ML_MAX));
    qsort(all, (size_t)n, sizeof(*all), compare);
    return n % 2 ? all[n / 2] : (all[n / 2 - 1] + all[n / 2]) / 2;
}

int main(void)
{
    float *in = calloc(1, LONG), *out = calloc(1, LONG);
    double begin = now_us(), init_us, before, after, us[2];
    ml_group *world;

    if (!in || !out)
        return 1;
    memset(in, 1, LONG); /* pages of its own */
    memset(out, 1, LONG);
    need(ml_init(&world));
    need(ml_barrier(world));
    init_us = now_us() - begin;
    before = private_kib();
    init_us = most_of(world, init_us);
    before = most_of(world, before);
    us[0] = measure(world, in, out, SHORT);
    us[1] = measure(world, in, out, LONG);
    after = most_of(world, private_kib());
    if (ml_rank(world) == 0)
        printf("%d %.2f %.0f %.0f %.2f %.2f\n", ml_size(world), init_us / 1e3, before, after, us[0],
               us[1]);
    need(ml_finalize());
    free(in);
    free(out);
    return 0;
}
