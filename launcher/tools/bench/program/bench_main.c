/* SPDX-License-Identifier: MIT */
/* bench_main.c: mlaunch-bench, the program that `mlaunch bench` runs. Rank 0 prints. */
#include "launcher/base/text/result_file.h"
#include "launcher/tools/bench/measure/bench_case.h"
#include "launcher/tools/bench/measure/bench_report.h"
#include "launcher/tools/bench/measure/measure.h"
#include "launcher/tools/bench/pair/pair_bench.h"
#include "launcher/tools/bench/program/plot.h"
#include "launcher/tools/bench/program/transfer_bench.h"
#include "launcher/tools/bench/program/tune.h"

#include <stdio.h>
#include <stdlib.h>

enum { STATUS_ERRORS = 1, STATUS_FAILED = 2 };

/* Measures all sizes. *errors is the number of wrong elements that --check found. */
static int sizes_measure(const struct bench_options *o, const struct bench_setup *s,
                         ml_group *world, struct bench_result *all, uint64_t *errors,
                         struct fault *why)
{
    bool prints = ml_rank(world) == 0;
    int rc = 0;

    if (prints && o->plot)
        rc = result_file_check("--plot", o->plot, why);
    if (rc)
        ml_abort(STATUS_FAILED, why->text); /* the others have begun */
    if (prints)
        bench_report_begin(o, s);
    for (int i = 0; i < o->size_count && !rc; i++) {
        rc = measure_size(&all[i], o, world, (size_t)o->sizes[i], why);
        if (rc)
            break;
        *errors += all[i].errors;
        if (prints)
            bench_report_add(o, s, &all[i], i == 0);
    }
    if (prints && !rc)
        bench_report_end(o, all, o->size_count);
    if (prints && !rc && o->plot)
        rc = plot_write(o->plot, o, s, all, o->size_count, why);
    return rc;
}

static int bench_run(const struct bench_options *o, ml_group *world, uint64_t *errors,
                     struct fault *why)
{
    struct bench_setup s = {0};
    struct bench_result *all;
    int rc;

    if (ml_size(world) < 2 &&
        (o->kind == BENCH_LAT || o->kind == BENCH_BW || o->kind == BENCH_TRANSFER ||
         bench_options_kind_is_one_sided(o->kind)))
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs at least two ranks: use -n 2",
                         bench_options_kind_name(o->kind));
    all = calloc((size_t)o->size_count, sizeof(*all));
    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = bench_setup_open(&s, o, why);
    if (!rc)
        rc = bench_setup_add_hosts(&s, world, why);
    if (!rc && o->kind == BENCH_TRANSFER)
        rc = transfer_bench_run(o, &s, world, errors, why);
    else if (!rc)
        rc = sizes_measure(o, &s, world, all, errors, why);
    bench_setup_close(&s);
    for (int i = 0; i < o->size_count; i++)
        measure_clear(&all[i]);
    free(all);
    return rc;
}

/* A mistake that all ranks find is printed by rank 0 alone. The others wait until it has done so,
 * as the first rank to end with a failure would end rank 0 too. */
static void failure_print(ml_group *world, int rc, const struct fault *why)
{
    bool is_everywhere = world && rc == ML_ERR_ARGUMENT;

    if (is_everywhere && ml_rank(world) > 0 && ml_barrier(world) == 0)
        return;
    fprintf(stderr, "mlaunch-bench: %s\n", why->text);
    if (is_everywhere && ml_rank(world) == 0)
        (void)ml_barrier(world); /* its failure would change nothing */
}

int main(int argc, char **argv)
{
    struct bench_options o;
    struct fault why = {0};
    ml_group *world = NULL;
    uint64_t errors = 0;
    int rc = bench_options_parse(&o, argc, argv, &why);

    if (!rc && o.tune) {
        rc = tune_run(&o, &why);
        if (rc)
            fprintf(stderr, "mlaunch-bench: %s\n", why.text);
        return rc ? STATUS_FAILED : 0;
    }
    if (!rc && o.kind == BENCH_LINK) {
        rc = pair_bench_run(&o, &world, &errors, &why);
        if (rc)
            failure_print(world, rc, &why);
        return rc ? STATUS_FAILED : errors ? STATUS_ERRORS : 0;
    }
    if (!rc)
        rc = bench_case_call(&why, ml_init(&world));
    if (!rc)
        rc = bench_run(&o, world, &errors, &why);
    if (rc) {
        failure_print(world, rc, &why);
        return STATUS_FAILED;
    }
    /* The first rank to end with a failure would end rank 0, which is still writing. */
    if (errors)
        (void)ml_barrier(world);
    if (ml_finalize())
        return STATUS_FAILED;
    return errors ? STATUS_ERRORS : 0;
}
