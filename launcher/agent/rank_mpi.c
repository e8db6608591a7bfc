/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank_mpi.h"

#include "common/text/text_json.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/mpi/mpi_program.h"
#include "launcher/agent/mpi/pmi.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_abort(int index, int status, void *arg)
{
    struct agent *a = arg;
    char why[64];

    snprintf(why, sizeof(why), "MPI_Abort with code %d", status);
    report_aborted(&a->ranks[index], status, why);
}

static void on_fault(int index, const char *text, void *arg)
{
    struct agent *a = arg;

    report_fault(a, a->ranks[index].job->rank, text);
}

static void on_note(int index, const char *text, void *arg)
{
    struct agent *a = arg;
    char line[512];

    snprintf(line, sizeof(line), "rank %d %s", a->ranks[index].job->rank, text);
    report_note(a, "warn", line);
}

static void on_exchange(uint32_t number, const char *pairs, size_t size, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordination_exchange(a->coordination, number, pairs, size, &why))
        report_lost(a, why.text);
}

static void on_name(int index, const char *what, const char *service, const char *port, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordination_name(a->coordination, index, what, service, port, &why))
        report_lost(a, why.text);
}

static void on_exchanged(struct agent *a, uint32_t number, const void *bytes, size_t size)
{
    struct fault why;

    if (a->pmi && pmi_exchanged(a->pmi, number, bytes, size, &why))
        report_lost(a, why.text);
}

static void on_named(struct agent *a, int ask, bool is_done, const char *port)
{
    if (a->pmi)
        pmi_named(a->pmi, ask, is_done, port[0] ? port : NULL);
}

static void on_absent(struct agent *a, int rank)
{
    report_fault(a, rank, "has ended, and other ranks wait for it in MPI");
}

const struct coordination_events rank_mpi_events = {on_exchanged, on_named, on_absent};

/* Rank 0's host speaks for the first program, which all or many hosts have. */
static void warning_add(struct agent *a, int app, const char *library)
{
    const struct job_message *job = a->job;
    char text[512];

    if (job->size == 1 || (app == 0 && job->host != job->host_of[0]))
        return;
    for (int i = 0; i < app; i++) {
        if (strcmp(job->apps[i].argv[0], job->apps[app].argv[0]) == 0)
            return;
    }
    snprintf(text, sizeof(text),
             "%s needs %s: it is a program of Open MPI or PMIx, and this version of mlaunch serves "
             "MPI programs by PMI-1 only, as MPICH's need. Each of its ranks will be a job of its "
             "own; start it with mpirun, or build it with MPICH (--mpi none: no warning)",
             job->apps[app].argv[0], library);
    json_array_append_new(a->warnings, text_json(text));
}

/* LD_LIBRARY_PATH of an app's ranks, to be freed; it ends with the libraries of --stage-libs. */
static char *library_path_of(const struct agent *a, const struct job_app *p)
{
    char *libraries = received_files_libraries(a->files, p->file), *path;

    if (asprintf(&path, "%s:%s", job_message_variable(a->job, p, "LD_LIBRARY_PATH"),
                 libraries ? libraries : "") < 0)
        path = NULL;
    free(libraries);
    return path;
}

/* Whether the ranks of a program get a socket. Programs in which no MPI library is found get one,
 * too: scripts and interpreters may start or load MPI, and static programs name no library. */
static bool app_is_served(struct agent *a, int app)
{
    const struct job_app *p = &a->job->apps[app];
    const char *program = p->file < 0 ? p->argv[0] : received_files_path(a->files, p->file);
    char *library_path, library[64];
    enum mpi_kind kind;

    if (a->job->mpi != JOB_MPI_AUTO)
        return a->job->mpi == JOB_MPI_PMI1;
    library_path = library_path_of(a, p);
    kind = mpi_program_find(program, job_message_variable(a->job, p, "PATH"), a->cwds[app],
                            library_path ? library_path : "", library);
    free(library_path);
    if (kind != MPI_KIND_OTHER)
        return true;
    warning_add(a, app, library);
    return false;
}

static bool app_has_ranks(const struct job_message *job, int app)
{
    for (int i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].app == app)
            return true;
    }
    return false;
}

int rank_mpi_choose(struct agent *a, struct fault *why)
{
    const struct job_message *job = a->job;

    a->serves_pmi = calloc((size_t)job->app_count, sizeof(*a->serves_pmi));
    if (!a->serves_pmi)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    /* A host may have no ranks of a program, and not even the program. */
    for (int i = 0; i < job->app_count; i++)
        a->serves_pmi[i] = app_has_ranks(job, i) && app_is_served(a, i);
    return 0;
}

bool rank_mpi_is_served(const struct agent *a, int app)
{
    return a->serves_pmi[app];
}

static bool is_any_served(const struct agent *a)
{
    for (int i = 0; i < a->job->app_count; i++) {
        if (a->serves_pmi[i])
            return true;
    }
    return false;
}

int rank_mpi_open(struct agent *a, struct fault *why)
{
    const struct pmi_events events = {on_exchange, on_name, on_abort, on_fault, on_note, a};
    const struct job_message *job = a->job;
    struct pmi_config config = {.job = job->job,
                                .restart = job->restart,
                                .size = job->size,
                                .hosts = job->hosts,
                                .host_of = job->host_of,
                                .rank_count = job->rank_count};
    int *ranks, *apps, rc;

    if (!is_any_served(a))
        return 0;
    config.ranks = ranks = calloc((size_t)job->rank_count, sizeof(*ranks));
    config.apps = apps = calloc((size_t)job->rank_count, sizeof(*apps));
    for (int i = 0; ranks && apps && i < job->rank_count; i++) {
        ranks[i] = job->ranks[i].rank;
        apps[i] = job->ranks[i].app;
    }
    rc = ranks && apps ? pmi_open(&a->pmi, a->base, &config, &events, why)
                       : fault_set(why, ML_ERR_MEMORY, "out of memory");
    free(ranks);
    free(apps);
    return rc;
}

void rank_mpi_close(struct agent *a)
{
    pmi_close(a->pmi);
    free(a->serves_pmi);
    a->pmi = NULL;
    a->serves_pmi = NULL;
}

int rank_mpi_socket(struct agent_rank *r, int *fd, struct fault *why)
{
    struct agent *a = r->agent;

    *fd = -1;
    return a->serves_pmi[r->job->app] ? pmi_rank_open(a->pmi, (int)(r - a->ranks), fd, why) : 0;
}

void rank_mpi_ended(struct agent_rank *r, bool has_succeeded)
{
    struct agent *a = r->agent;

    if (a->pmi)
        pmi_rank_ended(a->pmi, (int)(r - a->ranks), has_succeeded);
}
