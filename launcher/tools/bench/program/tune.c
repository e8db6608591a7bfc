/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/tune.h"

#include "common/text/text_stream.h"
#include "launcher/base/text/result_file.h"
#include "launcher/tools/bench/measure/bench_case.h"
#include "launcher/tools/bench/measure/bench_report.h"
#include "launcher/tools/bench/measure/bench_setup.h"
#include "launcher/tools/bench/measure/measure.h"

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
    {BENCH_REDUCE_SCATTER, "doubling", ANYWHERE},
    {BENCH_REDUCE_SCATTER, "ring", ANYWHERE},
    {BENCH_REDUCE, "binomial", ANYWHERE},
    {BENCH_REDUCE, "direct", ANYWHERE},
    {BENCH_REDUCE, "ring", ANYWHERE},
    {BENCH_REDUCE, "leaders", HOSTS},
    {BENCH_ALL_GATHER, "bruck", ANYWHERE},
    {BENCH_ALL_GATHER, "direct", ANYWHERE},
    {BENCH_ALL_GATHER, "ring", ANYWHERE},
    {BENCH_ALL_GATHER, "leaders", HOSTS},
    {BENCH_ALL_GATHER, "hierarchical", HOSTS},
    {BENCH_BROADCAST, "binomial", ANYWHERE},
    {BENCH_BROADCAST, "scatter", ANYWHERE},
    {BENCH_BROADCAST, "ring", ANYWHERE},
    {BENCH_BROADCAST, "leaders", HOSTS},
};
enum { ALGORITHMS = sizeof(algorithms) / sizeof(*algorithms) };

struct tuning {
    const struct bench_options *options;
    const char *names[COLUMNS]; /* the first: "auto" */
    int count;
    struct bench_setup setup;
    int rank;
    size_t *bytes, *named; /* per size: as reported, and as the call names it */
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
        t->named[i] = r.count * bench_options_type_size(t->options->type);
        t->us[i][column] = r.median_us;
        measure_clear(&r);
    }
    return rc;
}

static int column_measure(struct tuning *t, int column, struct fault *why)
{
    ml_group *world;
    int rc = algorithm_set(t, column, why);

    if (!rc)
        rc = bench_case_call(why, ml_init(&world));
    if (!rc)
        rc = sizes_measure(t, column, world, why);
    return rc ? rc : bench_case_call(why, ml_finalize());
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

/* Writes "all_reduce:doubling@8..4096,ring@4097..65536": for ranges of sizes, each up to the next,
 * an algorithm that is the fastest at all sizes in it, but for noise. Outside of what was measured
 * the library chooses. */
static void fastest_write(FILE *to, const struct tuning *t)
{
    int last = t->options->size_count - 1;
    const char *before = ":";

    fputs(bench_options_kind_name(t->options->kind), to);
    for (int from = 0, end; from <= last; from = end + 1) {
        int best = best_of(t, from);
        size_t first = from ? t->named[from - 1] + 1 : t->named[0];

        for (end = from; end < last; end++)
            if (t->us[end + 1][best] > gain * t->us[end + 1][best_of(t, end + 1)])
                break;
        if (first > t->named[end]) /* sizes that are one size when rounded to elements */
            continue;
        fprintf(to, "%s%s@%zu..%zu", before, t->names[best], first, t->named[end]);
        before = ",";
    }
}

/* Prints what would choose the fastest, and saves it. */
static int fastest_report(const struct tuning *t, struct fault *why)
{
    char *value = NULL;
    struct text_stream s;
    FILE *to = text_stream_open(&s);
    int rc = 0;

    if (to) {
        fastest_write(to, t);
        value = text_stream_close(to, &s);
    }
    if (!value)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    printf("# what would choose the fastest:\nMLAUNCH_ALGO=%s\n", value);
    if (t->options->save)
        rc = tune_save(t->options->save, t->options, &t->setup, value, why);
    if (t->options->save && !rc)
        printf("# saved: mlaunch --tuning %s ...\n", t->options->save);
    free(value);
    return rc;
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
    const char *rank = getenv("MLAUNCH_RANK");
    int rc = 0;

    if (o->save && (!rank || strcmp(rank, "0") == 0))
        rc = result_file_check("--save", o->save, why);
    unsetenv("MLAUNCH_ALGO"); /* it is set anew for each algorithm, and first for none */
    if (!rc)
        rc = bench_setup_open(&t.setup, o, why);
    if (rc)
        return rc;
    columns_set(&t);
    t.bytes = calloc((size_t)o->size_count, sizeof(*t.bytes));
    t.named = calloc((size_t)o->size_count, sizeof(*t.named));
    t.us = calloc((size_t)o->size_count, sizeof(*t.us));
    if (!t.bytes || !t.named || !t.us)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < t.count && !rc; i++)
        rc = column_measure(&t, i, why);
    if (!rc && t.rank == 0) {
        rows_print(&t);
        rc = fastest_report(&t, why);
    }
    bench_setup_close(&t.setup);
    free(t.bytes);
    free(t.named);
    free(t.us);
    return rc;
}
