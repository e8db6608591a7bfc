/* SPDX-License-Identifier: MIT */
#include "launcher/bench/tune.h"

#include "launcher/bench/bench_report.h"
#include "launcher/bench/bench_setup.h"
#include "launcher/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 10 /* the library's choice, and the most algorithms of an operation */ };

/* A crossover is printed where another algorithm is this much faster; less is noise. */
static const double gain = 1.05;

enum where { ANYWHERE, ONE_HOST /* all ranks share memory */, HOSTS /* several ranks on each */ };

/* From runtime/steps/algorithm_table.c; ml_init() refuses names that it does not have. */
static const struct {
    enum bench_kind kind;
    const char *algorithm;
    enum where where; /* elsewhere the library uses another one */
} algorithms[] = {
    {BENCH_ALL_REDUCE, "shared-flat", ONE_HOST},
    {BENCH_ALL_REDUCE, "shared", ONE_HOST},
    {BENCH_ALL_REDUCE, "doubling", ANYWHERE},
    {BENCH_ALL_REDUCE, "flat", ANYWHERE},
    {BENCH_ALL_REDUCE, "direct", ANYWHERE},
    {BENCH_ALL_REDUCE, "ring", ANYWHERE},
    {BENCH_ALL_REDUCE, "leaders", HOSTS},
    {BENCH_ALL_REDUCE, "hierarchical", HOSTS},
    {BENCH_REDUCE_SCATTER, "flat", ANYWHERE},
    {BENCH_REDUCE_SCATTER, "direct", ANYWHERE},
    {BENCH_REDUCE, "binomial", ANYWHERE},
    {BENCH_REDUCE, "direct", ANYWHERE},
    {BENCH_REDUCE, "leaders", HOSTS},
    {BENCH_ALL_GATHER, "bruck", ANYWHERE},
    {BENCH_ALL_GATHER, "direct", ANYWHERE},
    {BENCH_ALL_GATHER, "ring", ANYWHERE},
    {BENCH_ALL_GATHER, "leaders", HOSTS},
    {BENCH_ALL_GATHER, "hierarchical", HOSTS},
    {BENCH_BROADCAST, "binomial", ANYWHERE},
    {BENCH_BROADCAST, "scatter", ANYWHERE},
    {BENCH_BROADCAST, "leaders", HOSTS},
};
enum { ALGORITHMS = sizeof(algorithms) / sizeof(*algorithms) };

struct tuning {
    const struct bench_options *options;
    const char *names[COLUMNS]; /* the first: "auto" */
    int count;
    struct bench_setup setup;
    int rank;
    size_t *bytes;         /* per size */
    double (*us)[COLUMNS]; /* medians, per size */
};

static int algorithm_set(const struct tuning *t, int column, struct fault *why)
{
    char text[64];
    int rc;

    snprintf(text, sizeof(text), "%s:%s", bench_options_kind_name(t->options->kind),
             t->names[column]);
    rc = column ? setenv("MLAUNCH_ALGO", text, 1) : unsetenv("MLAUNCH_ALGO");
    return rc ? fault_set(why, ML_ERR_MEMORY, "out of memory") : 0;
}

static int sizes_measure(struct tuning *t, int column, ml_group *world, struct fault *why)
{
    int rc = bench_setup_add_hosts(&t->setup, world, why);

    t->rank = ml_rank(world);
    for (int i = 0; i < t->options->size_count && !rc; i++) {
        struct bench_result r;

        rc = measure_size(&r, t->options, world, (size_t)t->options->sizes[i], why);
        if (rc)
            break;
        t->bytes[i] = r.bytes;
        t->us[i][column] = r.median_us;
        measure_clear(&r);
    }
    return rc;
}

static int column_measure(struct tuning *t, int column, struct fault *why)
{
    ml_group *world;
    int rc = algorithm_set(t, column, why);

    if (rc)
        return rc;
    rc = ml_init(&world);
    if (rc)
        return measure_call_failed(why, rc);
    rc = sizes_measure(t, column, world, why);
    if (!rc) {
        rc = ml_finalize();
        if (rc)
            measure_call_failed(why, rc);
    }
    return rc;
}

/* --- what rank 0 prints ----------------------------------------------------------------------- */

static int best_of(const struct tuning *t, int size)
{
    int best = 1;

    for (int i = 2; i < t->count; i++)
        if (t->us[size][i] < t->us[size][best])
            best = i;
    return best;
}

static void rows_print(const struct tuning *t)
{
    bench_report_heading(t->options, &t->setup);
    printf(": median us by algorithm\n# auto: what the library takes unless MLAUNCH_ALGO says "
           "otherwise\n#%12s",
           "bytes");
    for (int i = 0; i < t->count; i++)
        printf(" %12s", t->names[i]);
    printf(" %12s %s\n", "fastest", "auto / fastest");
    for (int size = 0; size < t->options->size_count; size++) {
        int best = best_of(t, size);

        printf("%13zu", t->bytes[size]);
        for (int i = 0; i < t->count; i++)
            printf(" %12.2f", t->us[size][i]);
        printf(" %12s %.2f\n", t->names[best], t->us[size][0] / t->us[size][best]);
    }
}

/* Prints ranges of sizes, each with an algorithm that is the fastest there, but for noise. */
static void crossovers_print(const struct tuning *t)
{
    int last = t->options->size_count - 1;

    puts("# what would choose the fastest:");
    for (int from = 0, to; from <= last; from = to + 1) {
        int best = best_of(t, from);

        for (to = from; to < last; to++)
            if (t->us[to + 1][best] > gain * t->us[to + 1][best_of(t, to + 1)])
                break;
        printf("#   MLAUNCH_ALGO=%s:%s   from %zu to %zu bytes\n",
               bench_options_kind_name(t->options->kind), t->names[best], t->bytes[from],
               t->bytes[to]);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

/* The same on all ranks, so that all measure the same. */
static bool where_is_here(const struct bench_setup *s, enum where where)
{
    if (where == ONE_HOST)
        return s->host_count == 1 && !s->local_net;
    return where == ANYWHERE || (s->host_count > 1 && s->ranks > s->host_count && !s->local_net);
}

static void columns_set(struct tuning *t)
{
    t->names[t->count++] = "auto";
    for (int i = 0; i < ALGORITHMS; i++)
        if (algorithms[i].kind == t->options->kind && where_is_here(&t->setup, algorithms[i].where))
            t->names[t->count++] = algorithms[i].algorithm;
}

int tune_run(const struct bench_options *o, struct fault *why)
{
    struct tuning t = {.options = o};
    int rc;

    unsetenv("MLAUNCH_ALGO"); /* it is set anew for each algorithm, and first for none */
    rc = bench_setup_open(&t.setup, o, why);
    if (rc)
        return rc;
    columns_set(&t);
    t.bytes = calloc((size_t)o->size_count, sizeof(*t.bytes));
    t.us = calloc((size_t)o->size_count, sizeof(*t.us));
    if (!t.bytes || !t.us)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < t.count && !rc; i++)
        rc = column_measure(&t, i, why);
    if (!rc && t.rank == 0) {
        rows_print(&t);
        crossovers_print(&t);
    }
    bench_setup_close(&t.setup);
    free(t.bytes);
    free(t.us);
    return rc;
}
