/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan.h"

#include "launcher/base/text/string_list.h"

#include <stdlib.h>

struct host *plan_host(const struct plan *p, int index)
{
    return &p->list->hosts[p->where->hosts[index]];
}

int plan_places(const struct plan *p)
{
    return p->where->places > p->where->size ? p->where->places : p->where->size;
}

int plan_host_places(const struct plan *p)
{
    return p->where->host_count + plan_places(p) - p->where->size;
}

void plan_keep_rank(struct plan *p, int rank)
{
    const struct planned_rank kept = p->where->ranks[rank];

    p->where->hosts[0] = p->where->hosts[kept.host];
    p->where->host_count = 1;
    p->where->spare_count = p->where->spares_left = 0;
    p->where->ranks[0] = (struct planned_rank){.app = kept.app, .wrap = kept.wrap};
    p->where->size = 1;
    p->apps[kept.app].ranks = 1;
}

struct plan *plan_new(const struct options *o)
{
    struct plan *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->options = o;
    p->where = calloc(1, sizeof(*p->where));
    if (p->where)
        return p;
    free(p);
    return NULL;
}

void plan_destroy(struct plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->app_count; i++) {
        strings_free(p->apps[i].argv);
        strings_free(p->apps[i].env);
        free(p->apps[i].cwd);
    }
    staged_list_clear(&p->files);
    free(p->stage_env);
    strings_free(p->library_env);
    for (int i = 0; i < p->wrap_count; i++)
        rank_wrap_clear(&p->wraps[i]);
    free(p->wraps);
    free(p->chaos);
    host_list_destroy(p->list);
    free(p->apps);
    free(p->where->hosts);
    free(p->where->is_unfit);
    free(p->where->ranks);
    free(p->where);
    free(p->backend_reason);
    free(p->cwd);
    strings_free(p->agent_command);
    free(p);
}

const char *plan_mpi_text(const struct plan *p, bool is_pmix)
{
    switch (p->job.mpi) {
    case MPI_PMI1:
        return "PMI-1 alone (--mpi pmi1)";
    case MPI_PMIX:
        return "PMIx alone (--mpi pmix)";
    case MPI_NONE:
        return "each rank is a job of its own (--mpi none)";
    default:
        return is_pmix ? "PMIx, for a program of Open MPI"
                       : "PMI-1, and PMIx for processes that need Open MPI";
    }
}
