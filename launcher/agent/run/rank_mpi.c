/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_mpi.h"

#include "common/agent_to_rank.h"
#include "common/text/cpu_list.h"
#include "common/text/text_json.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/mpi/mpi_apart_linux.h"
#include "launcher/agent/mpi/mpi_command.h"
#include "launcher/agent/mpi/pmi.h"
#include "launcher/agent/mpi/pmix_demand.h"
#include "launcher/agent/mpi/pmix_helper.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/rank/variable_list.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_abort(int index, int status, void *arg)
{
    struct agent *a = arg;
    char why[64];

    snprintf(why, sizeof(why), "MPI_Abort with code %d", status);
    job_report_aborted(&a->ranks[index], status, why);
}

static void on_fault(int index, const char *text, void *arg)
{
    struct agent *a = arg;

    job_report_fault(a, a->ranks[index].job->rank, text);
}

/* A program that repeats what it is warned of is not warned again, and a few warnings suffice. */
static bool is_new_note(struct agent_rank *r, const char *text)
{
    for (size_t i = 0; i < sizeof(r->noted) / sizeof(r->noted[0]); i++) {
        if (strncmp(r->noted[i], text, sizeof(r->noted[i]) - 1) == 0)
            return false;
        if (!r->noted[i][0]) {
            snprintf(r->noted[i], sizeof(r->noted[i]), "%s", text);
            return true;
        }
    }
    return false;
}

static void on_note(int index, const char *text, void *arg)
{
    struct agent *a = arg;
    char line[512];

    if (!is_new_note(&a->ranks[index], text))
        return;
    snprintf(line, sizeof(line), "rank %d %s", a->ranks[index].job->rank, text);
    job_report_note(a, "warn", line);
}

static void on_exchange(uint32_t number, const char *pairs, size_t size, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordinator_session_exchange(a->coordinator_session, number, pairs, size, &why))
        job_report_lost(a, why.text);
}

static void on_name(int index, const char *what, const char *service, const char *port, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordinator_session_name(a->coordinator_session, index, what, service, port, &why))
        job_report_lost(a, why.text);
}

/* Both protocols may be in use, one in each process, and both count their exchanges from 1. */
enum { PMIX_EXCHANGE = 1u << 31 };

static void on_exchanged(struct agent *a, uint32_t number, const void *bytes, size_t size)
{
    struct fault why;

    if (number & PMIX_EXCHANGE && a->pmix)
        pmix_helper_exchanged(a->pmix, number & ~PMIX_EXCHANGE, bytes, size);
    else if (a->pmi && pmi_exchanged(a->pmi, number, bytes, size, &why))
        job_report_lost(a, why.text);
}

static void on_named(struct agent *a, int ask, bool is_done, const char *port)
{
    if (a->pmi)
        pmi_named(a->pmi, ask, is_done, port[0] ? port : NULL);
}

static void on_absent(struct agent *a, int rank)
{
    job_report_fault(a, rank, "has ended, and other ranks wait for it in MPI");
}

static void demand_begin(struct agent *a);

/* Another host's ranks may ask for PMIx before those here do. */
static void on_passed(struct agent *a, int host, const void *bytes, size_t size)
{
    struct fault why;

    if (a->serves_pmix || (a->demand && pmix_demand_is_ready(a->demand))) {
        pmix_helper_passed(a->pmix, host, bytes, size);
    } else if (a->demand) {
        demand_begin(a);
        if (pmix_demand_keep(a->demand, host, bytes, size, &why))
            job_report_lost(a, why.text);
    }
}

const struct coordinator_session_events rank_mpi_events = {on_exchanged, on_named, on_absent,
                                                           on_passed};

/* Rank 0's host speaks for the first program, which all or many hosts have. */
static void warning_add(struct agent *a, int app, const char *library)
{
    const struct job_spec *job = a->job;
    char text[512];

    if (job->size == 1 || (app == 0 && job->host != job->host_of[0]))
        return;
    for (int i = 0; i < app; i++) {
        if (strcmp(job->apps[i].argv[0], job->apps[app].argv[0]) == 0)
            return;
    }
    snprintf(text, sizeof(text),
             "%s needs %s, an MPI that mlaunch cannot serve: it serves MPICH's by PMI-1, and Open "
             "MPI's from version 3 on by PMIx. Each of its ranks will be a job of its own "
             "(--mpi pmi1 tries nevertheless, --mpi none says nothing)",
             job->apps[app].argv[0], library);
    json_array_append_new(a->warnings, text_json(text));
}

/* LD_LIBRARY_PATH of an app's ranks, to be freed; it ends with the libraries of --stage-libs. */
static char *library_path_of(const struct agent *a, const struct job_app *p)
{
    char *libraries = received_files_libraries(a->files, p->file), *path;

    if (asprintf(&path, "%s:%s", job_spec_variable(a->job, p, "LD_LIBRARY_PATH"),
                 libraries ? libraries : "") < 0)
        path = NULL;
    free(libraries);
    return path;
}

/* PATH of an app's ranks, to be freed. In front is the copy of --stage-env, by its own path. */
static char *search_path_of(const struct agent *a, const struct job_app *p)
{
    const char *copy = a->place ? a->place->copy : NULL;
    char *path;

    if (asprintf(&path, "%s%s%s", copy ? copy : "", copy ? "/bin:" : "",
                 job_spec_variable(a->job, p, "PATH")) < 0)
        path = NULL;
    return path;
}

static void command_find(const struct agent *a, int app, const char *program,
                         const char *const *argv, struct mpi_command *out)
{
    const struct job_app *p = &a->job->apps[app];
    char *library_path = library_path_of(a, p), *path = search_path_of(a, p);
    const struct mpi_command_place place = {
        .path = path ? path : "",
        .library_path = library_path ? library_path : "",
        .python_path = job_spec_variable(a->job, p, "PYTHONPATH"),
        .python_version = job_spec_variable(a->job, p, "PYENV_VERSION"),
        .home = job_spec_variable(a->job, p, "HOME"),
        .cwd = a->cwds[app]};

    mpi_command_find(out, program, argv, &place);
    free(library_path);
    free(path);
}

static void app_look(struct agent *a, int app, struct mpi_command *out)
{
    const struct job_app *p = &a->job->apps[app];

    char *copy = a->place ? staged_place_program(a->place, a->cwds[app], p->argv[0]) : NULL;

    command_find(a, app,
                 p->file >= 0 ? received_files_path(a->files, p->file)
                 : copy       ? copy
                              : p->argv[0],
                 p->argv, out);
    free(copy);
    if (out->kind == MPI_KIND_OTHER)
        warning_add(a, app, out->library);
}

/* Whether the ranks of a program get a socket. Programs in which no MPI library is found also get
 * one, because scripts and interpreters may start or load MPI, and static programs name no
 * library. */
static bool kind_is_served(enum mpi_mode mpi, enum mpi_kind kind)
{
    return mpi == MPI_PMI1 || (mpi == MPI_AUTO && kind != MPI_KIND_OTHER);
}

static bool app_has_ranks(const struct job_spec *job, int app)
{
    for (int i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].app == app)
            return true;
    }
    return false;
}

/* --- PMIx ------------------------------------------------------------------------------------- */

static const char NO_PMIX[] = "a program of Open MPI cannot go on without one of its ranks: leave "
                              "--elastic out";

static void mpi_done(struct agent *a, const struct fault *failed)
{
    void (*done)(struct agent * a, const struct fault *failed) = a->mpi_done;

    a->mpi_done = NULL;
    done(a, failed);
}

/* PMIx cannot be served here. A Python program may do without it, and in a job that outlives ranks
 * it does. READY carries the warnings: at START nothing is new, for a host whose own Python wants
 * PMIx has warned before. */
static void pmix_fail(struct agent *a, const struct fault *why)
{
    char text[sizeof(why->text) + 128];

    if (a->needs_pmix) {
        mpi_done(a, why);
        return;
    }
    if (a->job->options.elastic) {
        mpi_done(a, NULL);
        return;
    }
    snprintf(text, sizeof(text), "if the program uses MPI, each rank is a job of its own: %s",
             why->text);
    json_array_append_new(a->warnings, text_json(text));
    mpi_done(a, NULL);
}

static void on_pmix_ready(void *arg)
{
    struct agent *a = arg;

    a->serves_pmix = !a->demand; /* else only those are served who have asked */
    if (a->mpi_done)
        mpi_done(a, NULL);
}

static void on_pmix_lost(const char *text, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    fault_set(&why, ML_ERR_SYSTEM, "%s", text);
    if (a->mpi_done)
        pmix_fail(a, &why);
    else
        job_report_lost(a, text);
}

static void on_pmix_settled(void *arg)
{
    struct agent *a = arg;

    a->mpi_release(a);
}

static void on_pmix_silent(const char *text, void *arg)
{
    job_report_note(arg, "warn", text);
}

static void on_pmix_exchange(uint32_t number, const void *bytes, size_t size, void *arg)
{
    struct agent *a = arg;

    if (a->job->hosts > 1)
        on_exchange(number | PMIX_EXCHANGE, bytes, size, a);
    else
        pmix_helper_exchanged(a->pmix, number, bytes, size);
}

static void on_pmix_pass(uint32_t host, const void *bytes, size_t size, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (host >= (uint32_t)a->job->hosts || (int)host == a->job->host)
        job_report_lost(a, "mlaunch-pmix sent something for a host that is none");
    else if (coordinator_session_pass(a->coordinator_session, (int)host, bytes, size, &why))
        job_report_lost(a, why.text);
}

/* "0-3,8"; "" without --bind-to. */
static json_t *cpus_json(const struct agent *a, int local_rank)
{
    char text[CPU_LIST_TEXT];

    return json_string(
        a->bindings ? cpu_list_format(text, sizeof(text), &a->bindings[local_rank].cpus) : "");
}

/* HELP_JOB's, without memory NULL. */
static json_t *pmix_job(const struct agent *a)
{
    const struct job_spec *job = a->job;
    json_t *names = json_array(), *host_of = json_array(), *ranks = json_array();
    json_t *apps = json_array(), *cpus = json_array();
    char space[128];

    for (int i = 0; i < job->hosts; i++)
        json_array_append_new(names, text_json(job->host_names[i]));
    for (int i = 0; i < job->size; i++)
        json_array_append_new(host_of, json_integer(job->host_of[i]));
    for (int i = 0; i < job->rank_count; i++) {
        json_array_append_new(ranks, json_integer(job->ranks[i].rank));
        json_array_append_new(apps, json_integer(job->ranks[i].app));
        json_array_append_new(cpus, cpus_json(a, job->ranks[i].local_rank));
    }
    snprintf(space, sizeof(space), "%.100s-%d", job->job, job->restart);
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "space", space,
                     "dir", a->dir, "size", job->size, "hosts", job->hosts, "host", job->host,
                     "app_count", job->app_count, "names", names, "host_of", host_of, "ranks",
                     ranks, "apps", apps, "cpus", cpus);
}

static void pmix_start(struct agent *a)
{
    const struct pmix_helper_events events = {
        on_pmix_ready, on_pmix_exchange, on_pmix_pass, on_abort,        on_fault,
        on_note,       on_pmix_silent,   on_pmix_lost, on_pmix_settled, a};
    const struct job_spec *job = a->job;
    int *ranks = calloc((size_t)job->rank_count, sizeof(*ranks));
    struct stream_child child;
    struct fault why;
    int rc;

    pmix_helper_close(a->pmix); /* one that has failed before */
    a->pmix = NULL;
    for (int i = 0; ranks && i < job->rank_count; i++)
        ranks[i] = job->ranks[i].rank;
    rc = ranks ? pmix_helper_start(&child, a->dir,
                                   job_spec_variable(job, job->apps, "PMIX_MCA_psec"), &why)
               : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = pmix_helper_open(&a->pmix, a->base, &child, pmix_job(a), ranks, job->rank_count,
                              &events, &why);
    free(ranks);
    job_directory_make_segments(a->dir, a->segments, sizeof(a->segments));
    if (rc)
        pmix_fail(a, &why);
}

/* --- PMIx for processes that ask for it ------------------------------------------------------- */

static void demand_answer(struct agent *a, int index)
{
    const char *const *pmix = pmix_helper_variables(a->pmix, index);
    struct variable_list all = {0};

    for (; *pmix; pmix++)
        variable_list_set(&all, "%s", *pmix);
    rank_environment_add_open_mpi(&all, a->job, a->segments);
    pmi_pmix(a->pmi, index, all.failed ? NULL : (const char *const *)all.list);
    variable_list_truncate(&all, 0);
}

static void demand_refuse(struct agent *a, int index, bool is_certain, const char *why)
{
    char text[sizeof(((struct fault *)0)->text) + 128];

    snprintf(text, sizeof(text),
             is_certain ? "runs a program of Open MPI, which cannot be served: %s"
                        : "runs Python, and is a job of its own if it uses Open MPI's mpi4py: %s",
             why);
    if (is_certain) {
        on_fault(index, text, a);
    } else {
        on_note(index, text, a);
        pmi_pmix(a->pmi, index, NULL);
    }
}

/* Answers those who wait, if it is known what. */
static void demand_serve(struct agent *a)
{
    const char *failure = pmix_demand_failure(a->demand);
    bool is_certain;
    int index;

    if (!failure && !pmix_demand_is_ready(a->demand))
        return;
    while ((index = pmix_demand_next(a->demand, &is_certain)) >= 0) {
        if (failure)
            demand_refuse(a, index, is_certain, failure);
        else
            demand_answer(a, index);
    }
}

static void demand_end(struct agent *a, const struct fault *failed)
{
    if (failed)
        pmix_demand_set_failure(a->demand, failed->text);
    else
        pmix_demand_set_ready(a->demand, a->pmix);
    demand_serve(a);
}

/* Starts the server, once. */
static void demand_begin(struct agent *a)
{
    if (!pmix_demand_begin(a->demand))
        return;
    a->needs_pmix = true;
    a->mpi_done = demand_end;
    pmix_start(a);
}

static bool is_demandable(const struct job_spec *job)
{
    return job->options.mpi == MPI_AUTO && job->size > 1;
}

/* Whether only mpi4py speaks for PMIx: the script may do without it, or start programs of MPICH. So
 * the ranks are served by PMI-1, and Python asks for PMIx besides, as processes of shell scripts
 * do. It is the preloaded library that asks. */
static bool is_for_later(const struct agent *a, const struct mpi_command *found)
{
    return found->kind == MPI_KIND_PMIX && found->is_by_python && is_demandable(a->job) &&
           !a->job->options.elastic && a->shim[0];
}

/* True if that Python has an mpi4py of Open MPI. */
static bool python_needs_pmix(const struct agent *a, int app, const char *python)
{
    const char *const argv[] = {python, NULL};
    struct mpi_command found;

    command_find(a, app, python, argv, &found);
    return found.kind == MPI_KIND_PMIX;
}

static void on_pmix_asked(int index, const char *python, void *arg)
{
    struct agent *a = arg;

    if (python && !python_needs_pmix(a, a->ranks[index].job->app, python)) {
        pmi_pmix(a->pmi, index, NULL);
        return;
    }
    if (a->job->options.elastic) {
        demand_refuse(a, index, !python, NO_PMIX);
        return;
    }
    pmix_demand_add(a->demand, index, !python);
    demand_begin(a);
    demand_serve(a);
}

void rank_mpi_choose(struct agent *a, void (*done)(struct agent *a, const struct fault *failed))
{
    const struct job_spec *job = a->job;
    bool is_pmix = job->options.mpi == MPI_PMIX;
    struct fault why;

    a->mpi_done = done;
    a->serves_pmi = calloc((size_t)job->app_count, sizeof(*a->serves_pmi));
    a->knows_python = calloc((size_t)job->app_count, sizeof(*a->knows_python));
    if (!a->serves_pmi || !a->knows_python) {
        fault_set(&why, ML_ERR_MEMORY, "out of memory");
        mpi_done(a, &why);
        return;
    }
    /* A host may have no ranks of a program, and not even the program. */
    for (int i = 0; i < job->app_count; i++) {
        struct mpi_command found = {.kind = MPI_KIND_NONE};
        bool is_later;

        if (!app_has_ranks(job, i))
            continue;
        if (job->options.mpi == MPI_AUTO && !a->container)
            app_look(a, i, &found);
        is_later = is_for_later(a, &found);
        is_pmix |= found.kind == MPI_KIND_PMIX && !is_later;
        a->needs_pmix |= found.kind == MPI_KIND_PMIX && found.is_certain;
        a->serves_pmi[i] = kind_is_served(job->options.mpi, found.kind);
        a->knows_python[i] = found.is_python && !is_later;
    }
    a->needs_pmix |= job->options.mpi == MPI_PMIX;
    if (is_pmix && job->options.elastic) {
        fault_set(&why, ML_ERR_REFUSED, "%s", NO_PMIX);
        pmix_fail(a, &why);
    } else if (is_pmix) {
        pmix_start(a);
    } else {
        mpi_done(a, NULL);
    }
}

bool rank_mpi_needs_pmix(const struct agent *a)
{
    return a->needs_pmix;
}

void rank_mpi_agree(struct agent *a, bool is_pmix, bool needs_pmix,
                    void (*done)(struct agent *a, const struct fault *failed))
{
    a->mpi_done = done;
    a->needs_pmix |= needs_pmix;
    if (is_pmix && !a->serves_pmix)
        pmix_start(a);
    else
        mpi_done(a, NULL);
}

bool rank_mpi_is_pmix(const struct agent *a)
{
    return a->serves_pmix;
}

const char *rank_mpi_asks(const struct agent *a, int app)
{
    if (!is_demandable(a->job) || !rank_mpi_is_served(a, app))
        return NULL;
    return a->knows_python[app] ? "" : "p";
}

const char *const *rank_mpi_variables(const struct agent_rank *r)
{
    const struct agent *a = r->agent;

    return a->serves_pmix && !r->is_added ? pmix_helper_variables(a->pmix, (int)(r - a->ranks))
                                          : NULL;
}

void rank_mpi_reaped(struct agent *a, pid_t pid, int status)
{
    if (a->pmix)
        pmix_helper_reaped(a->pmix, pid, status);
}

void rank_mpi_finish(struct agent *a)
{
    if (a->pmix)
        pmix_helper_finish(a->pmix);
}

/* --- PMI-1 ------------------------------------------------------------------------------------ */

bool rank_mpi_is_served(const struct agent *a, int app)
{
    return !a->serves_pmix && a->serves_pmi[app];
}

static bool is_any_served(const struct agent *a)
{
    for (int i = 0; i < a->job->app_count; i++) {
        if (rank_mpi_is_served(a, i))
            return true;
    }
    return false;
}

/* --- programs that are apart from the job ---------------------------------------------------- */

static pid_t apart_pid(int index, void *arg)
{
    const struct agent *a = arg;
    const struct agent_rank *r = &a->ranks[index];
    bool has_come = a->pmi && !r->is_added && !pmi_rank_is_silent(a->pmi, index);

    if (r->state != RANK_RUNNING || has_come)
        return 0;
    return a->container ? container_process(a->container, index) : r->pid;
}

static int apart_open(struct agent *a, struct fault *why)
{
    const struct mpi_apart_config config = {.base = a->base,
                                            .rank_count = a->job->rank_count,
                                            .rank_pid = apart_pid,
                                            .on_found = on_fault,
                                            .arg = a};

    if (a->job->options.mpi == MPI_NONE || a->job->size == 1 || a->apart)
        return 0;
    return mpi_apart_open(&a->apart, &config, why);
}

/* The preloaded library has told the user why, and leaves a mark for the agent. */
static void apart_check(struct agent_rank *r)
{
    char mark[JOB_DIRECTORY_PATH + 64];

    snprintf(mark, sizeof(mark), "%s/" MPI_APART_PREFIX "%d", r->agent->dir, r->job->rank);
    if (access(mark, F_OK) == 0)
        job_report_fault(r->agent, r->job->rank,
                         "has run an MPI program that was not served, and a job of its own: a "
                         "warning says why (--mpi none permits it)");
}

int rank_mpi_open(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->job;
    const struct pmi_events events = {.on_exchange = on_exchange,
                                      .on_name = on_name,
                                      .on_pmix = is_demandable(job) ? on_pmix_asked : NULL,
                                      .on_abort = on_abort,
                                      .on_fault = on_fault,
                                      .on_note = on_note,
                                      .arg = a};
    struct pmi_config config = {.job = job->job,
                                .restart = job->restart,
                                .size = job->size,
                                .hosts = job->hosts,
                                .host_of = job->host_of,
                                .rank_count = job->rank_count,
                                .is_elastic = job->options.elastic > 0};
    int *ranks, *apps, rc = apart_open(a, why);

    if (rc || !is_any_served(a))
        return rc;
    if (is_demandable(job) && pmix_demand_create(&a->demand, job->rank_count, why))
        return why->code;
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
    mpi_apart_close(a->apart);
    a->apart = NULL;
    pmi_close(a->pmi);
    pmix_helper_close(a->pmix);
    pmix_demand_destroy(a->demand);
    a->demand = NULL;
    free(a->serves_pmi);
    free(a->knows_python);
    a->knows_python = NULL;
    a->pmix = NULL;
    a->pmi = NULL;
    a->serves_pmi = NULL;
}

int rank_mpi_socket(struct agent_rank *r, int *fd, struct fault *why)
{
    struct agent *a = r->agent;

    *fd = -1;
    return rank_mpi_is_served(a, r->job->app) && !r->is_added
               ? pmi_rank_open(a->pmi, (int)(r - a->ranks), fd, why)
               : 0;
}

bool rank_mpi_hold(struct agent *a, void (*release)(struct agent *a))
{
    a->mpi_release = release;
    return a->pmix && pmix_helper_ask(a->pmix);
}

void rank_mpi_ended(struct agent_rank *r, bool has_succeeded)
{
    struct agent *a = r->agent;

    if (r->is_added)
        return;
    if (has_succeeded && a->apart)
        apart_check(r);
    if (a->pmi)
        pmi_rank_ended(a->pmi, (int)(r - a->ranks), has_succeeded);
    if (a->pmix)
        pmix_helper_rank_ended(a->pmix, (int)(r - a->ranks), has_succeeded);
}
