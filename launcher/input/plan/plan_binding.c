/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_binding.h"

#include "config.h"

#include "common/text/printable.h"

#include <stdio.h>

#if HAVE_HWLOC
static const bool can_bind = true;
#else
static const bool can_bind = false;
#endif

static const char *word_of(enum bind_mode unit)
{
    const struct named_value *w = job_words_bind;

    while (w->word && w->value != (int)unit)
        w++;
    return w->word;
}

/* --cpus-per-rank counts cores, or hardware threads with --bind-to hwthread. */
static int each_settle(struct binding_options *b, const struct options *o, struct fault *why)
{
    if (!o->cpus_per_rank)
        return 0;
    if (b->to == BIND_NONE)
        b->to = BIND_CORE;
    if (b->each || (b->to != BIND_CORE && b->to != BIND_HWTHREAD && b->to != BIND_GPU))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--cpus-per-rank and --bind-to %s%s both say how much a rank gets: for "
                         "cores within a unit write --map-by numa --cpus-per-rank %d",
                         word_of(b->to), b->each ? ":N" : "", o->cpus_per_rank);
    b->each = o->cpus_per_rank;
    return 0;
}

int plan_binding_settle(struct plan *p, const struct options *o, struct fault *why)
{
    struct binding_options *b = &p->job.binding;
    int rc;

    if (!can_bind && (b->gpus || b->memory != MEMORY_ANY || b->threads == THREADS_AUTO))
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--gpus-per-rank, --mem-bind and --threads auto: this mlaunch was built without hwloc");
    if (o->binds && b->to == BIND_NONE) {
        if (o->cpus_per_rank)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--bind-to none gives no rank any cores, but "
                             "--cpus-per-rank does: leave one of them out");
        b->map = BIND_NONE; /* it only says which cores those would be */
        return 0;
    }
    rc = each_settle(b, o, why);
    if (rc)
        return rc;
    if (b->map && b->to == BIND_CPUS)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--bind-to cpus and --map-by %s both say where each rank runs: leave one "
                         "of them out",
                         word_of(b->map));
    if (b->to == BIND_NONE)
        b->to = b->map; /* as mpirun does */
    if (b->gpus && o->verbose > 0)
        b->report = true; /* -v says which devices are beside the GPUs */
    if (b->to != BIND_NONE && !can_bind)
        return fault_set(why, ML_ERR_ARGUMENT, "--bind-to: this mlaunch was built without hwloc");
    return 0;
}

void plan_binding_print(const struct plan *p)
{
    const struct binding_options *b = &p->job.binding;

    printable_print("binding: %s", word_of(b->to));
    if (b->to == BIND_CPUS)
        printable_print(" %s", b->cpus);
    if (b->each > 1)
        printable_print(", %d a rank", b->each);
    if (b->map)
        printable_print(", ranks dealt out by %s", word_of(b->map));
    if (b->block)
        printable_print(", %d on each", b->block);
    if (b->gpus)
        printable_print("; GPUs a rank: %d", b->gpus);
    if (b->memory)
        printable_print("; memory: %s%s%s", job_words_memory[b->memory].word,
                        b->memory == MEMORY_NODES ? " " : "",
                        b->memory == MEMORY_NODES ? b->nodes : "");
    if (b->threads == THREADS_AUTO)
        printable_print("; threads: auto");
    else if (b->threads)
        printable_print("; threads: %d", b->threads);
    putchar('\n');
}
