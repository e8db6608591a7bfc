/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan.h"

#include "launcher/base/text/string_list.h"

#include <stdlib.h>

struct host *plan_host(const struct plan *p, int index)
{
    return &p->list->hosts[p->hosts[index]];
}

int plan_places(const struct plan *p)
{
    return p->places > p->size ? p->places : p->size;
}

int plan_host_places(const struct plan *p)
{
    return p->host_count + plan_places(p) - p->size;
}

void plan_keep_rank(struct plan *p, int rank)
{
    const struct planned_rank kept = p->ranks[rank];

    p->hosts[0] = p->hosts[kept.host];
    p->host_count = 1;
    p->spare_count = p->spares_left = 0;
    p->ranks[0] = (struct planned_rank){.app = kept.app, .wrap = kept.wrap};
    p->size = 1;
    p->apps[kept.app].ranks = 1;
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
    free(p->hosts);
    free(p->is_unfit);
    free(p->ranks);
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
