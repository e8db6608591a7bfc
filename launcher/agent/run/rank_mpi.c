/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_mpi.h"

#include "common/agent_to_rank.h"
#include "common/text/cpu_list.h"
#include "common/text/text_json.h"
#include "launcher/agent/binding/binding.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/mpi/mpi_apart_linux.h"
#include "launcher/agent/mpi/mpi_command.h"
#include "launcher/agent/mpi/pmi.h"
#include "launcher/agent/mpi/pmix_demand.h"
#include "launcher/agent/mpi/pmix_helper.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/variable_list.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_mpi_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_abort(int index, int status, void *arg)
{
    struct agent *a = arg;
    char why[64];

    snprintf(why, sizeof(why), "MPI_Abort with code %d", status);
    job_report_aborted(&a->run.ranks.all[index], status, why);
}

static void on_fault(int index, const char *text, void *arg)
{
    struct agent *a = arg;

    job_report_fault(a, a->run.ranks.all[index].job->rank, text);
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

    if (!is_new_note(&a->run.ranks.all[index], text))
        return;
    snprintf(line, sizeof(line), "rank %d %s", a->run.ranks.all[index].job->rank, text);
    job_report_note(a, "warn", line);
}

static void on_exchange(uint32_t number, const char *pairs, size_t size, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordinator_session_exchange(a->run.coordinator_session, number, pairs, size, &why))
        job_report_lost(a, why.text);
}

static void on_name(int index, const char *what, const char *service, const char *port, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (coordinator_session_name(a->run.coordinator_session, index, what, service, port, &why))
        job_report_lost(a, why.text);
}

/* Both protocols may be in use, one in each process, and both count their exchanges from 1. */
enum { PMIX_EXCHANGE = 1u << 31 };

static void on_exchanged(struct agent *a, uint32_t number, const void *bytes, size_t size)
{
    struct rank_mpi *m = &a->run.mpi;
    struct fault why;

    if (number & PMIX_EXCHANGE && m->pmix)
        pmix_helper_exchanged(m->pmix, number & ~PMIX_EXCHANGE, bytes, size);
    else if (m->pmi && pmi_exchanged(m->pmi, number, bytes, size, &why))
        job_report_lost(a, why.text);
}

static void on_named(struct agent *a, int ask, bool is_done, const char *port)
{
    if (a->run.mpi.pmi)
        pmi_named(a->run.mpi.pmi, ask, is_done, port[0] ? port : NULL);
}

static void on_absent(struct agent *a, int rank)
{
    job_report_fault(a, rank, "has ended, and other ranks wait for it in MPI");
}

static void demand_begin(struct agent *a);

/* Another host's ranks may ask for PMIx before those here do. */
static void on_passed(struct agent *a, int host, const void *bytes, size_t size)
{
    struct rank_mpi *m = &a->run.mpi;
    struct fault why;

    if (m->serves_pmix || (m->demand && pmix_demand_is_ready(m->demand))) {
        pmix_helper_passed(m->pmix, host, bytes, size);
    } else if (m->demand) {
        demand_begin(a);
        if (pmix_demand_keep(m->demand, host, bytes, size, &why))
            job_report_lost(a, why.text);
    }
}

const struct coordinator_session_events rank_mpi_events = {on_exchanged, on_named, on_absent,
                                                           on_passed};

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
    void (*done)(struct agent * a, const struct fault *failed) = a->run.mpi.done;

    a->run.mpi.done = NULL;
    done(a, failed);
}

/* PMIx cannot be served here. A Python program may do without it, and in a job that outlives ranks
 * it does. READY carries the warnings: at START nothing is new, for a host whose own Python wants
 * PMIx has warned before. */
static void pmix_fail(struct agent *a, const struct fault *why)
{
    if (a->run.mpi.needs_pmix) {
        mpi_done(a, why);
        return;
    }
    if (a->run.job->options.elastic) {
        mpi_done(a, NULL);
        return;
    }
    job_report_warning(a, "if the program uses MPI, each rank is a job of its own: %s", why->text);
    mpi_done(a, NULL);
}

static void on_pmix_ready(void *arg)
{
    struct agent *a = arg;

    a->run.mpi.serves_pmix = !a->run.mpi.demand; /* else only those are served who have asked */
    if (a->run.mpi.done)
        mpi_done(a, NULL);
}

static void on_pmix_lost(const char *text, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    fault_set(&why, ML_ERR_SYSTEM, "%s", text);
    if (a->run.mpi.done)
        pmix_fail(a, &why);
    else
        job_report_lost(a, text);
}

static void on_pmix_settled(void *arg)
{
    struct agent *a = arg;

    a->run.mpi.release(a);
}

static void on_pmix_silent(const char *text, void *arg)
{
    job_report_note(arg, "warn", text);
}

static void on_pmix_exchange(uint32_t number, const void *bytes, size_t size, void *arg)
{
    struct agent *a = arg;

    if (a->run.job->hosts > 1)
        on_exchange(number | PMIX_EXCHANGE, bytes, size, a);
    else
        pmix_helper_exchanged(a->run.mpi.pmix, number, bytes, size);
}

static void on_pmix_pass(uint32_t host, const void *bytes, size_t size, void *arg)
{
    struct agent *a = arg;
    struct fault why;

    if (host >= (uint32_t)a->run.job->hosts || (int)host == a->run.job->host)
        job_report_lost(a, "mlaunch-pmix sent something for a host that is none");
    else if (coordinator_session_pass(a->run.coordinator_session, (int)host, bytes, size, &why))
        job_report_lost(a, why.text);
}

/* "0-3,8"; "" without --bind-to. */
static json_t *cpus_json(const struct agent *a, int local_rank)
{
    char text[CPU_LIST_TEXT];

    return json_string(
        a->run.place.bindings
            ? cpu_list_format(text, sizeof(text), &a->run.place.bindings[local_rank].cpus)
            : "");
}

/* HELP_JOB's, without memory NULL. */
static json_t *pmix_job(const struct agent *a)
{
    const struct job_spec *job = a->run.job;
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
                     "dir", a->directory.path, "size", job->size, "hosts", job->hosts, "host",
                     job->host, "app_count", job->app_count, "names", names, "host_of", host_of,
                     "ranks", ranks, "apps", apps, "cpus", cpus);
}

static void pmix_start(struct agent *a)
{
    const struct pmix_helper_events events = {
        on_pmix_ready, on_pmix_exchange, on_pmix_pass, on_abort,        on_fault,
        on_note,       on_pmix_silent,   on_pmix_lost, on_pmix_settled, a};
    const struct job_spec *job = a->run.job;
    int *ranks = calloc((size_t)job->rank_count, sizeof(*ranks));
    struct stream_child child;
    struct fault why;
    int rc;

    pmix_helper_close(a->run.mpi.pmix); /* one that has failed before */
    a->run.mpi.pmix = NULL;
    for (int i = 0; ranks && i < job->rank_count; i++)
        ranks[i] = job->ranks[i].rank;
    rc = ranks ? pmix_helper_start(&child, a->directory.path,
                                   job_spec_variable(job, job->apps, "PMIX_MCA_psec"), &why)
               : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = pmix_helper_open(&a->run.mpi.pmix, a->base, &child, pmix_job(a), ranks,
                              job->rank_count, &events, &why);
    free(ranks);
    job_directory_make_segments(a->directory.path, a->run.mpi.segments,
                                sizeof(a->run.mpi.segments));
    if (rc)
        pmix_fail(a, &why);
}

/* --- PMIx for processes that ask for it ------------------------------------------------------- */

static void demand_answer(struct agent *a, int index)
{
    const char *const *pmix = pmix_helper_variables(a->run.mpi.pmix, index);
    struct variable_list all = {0};

    for (; *pmix; pmix++)
        variable_list_set(&all, "%s", *pmix);
    rank_environment_add_open_mpi(&all, a->run.job, a->run.mpi.segments);
    pmi_pmix(a->run.mpi.pmi, index, all.failed ? NULL : (const char *const *)all.list);
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
        pmi_pmix(a->run.mpi.pmi, index, NULL);
    }
}

/* Answers those who wait, if it is known what. */
static void demand_serve(struct agent *a)
{
    const char *failure = pmix_demand_failure(a->run.mpi.demand);
    bool is_certain;
    int index;

    if (!failure && !pmix_demand_is_ready(a->run.mpi.demand))
        return;
    while ((index = pmix_demand_next(a->run.mpi.demand, &is_certain)) >= 0) {
        if (failure)
            demand_refuse(a, index, is_certain, failure);
        else
            demand_answer(a, index);
    }
}

static void demand_end(struct agent *a, const struct fault *failed)
{
    if (failed)
        pmix_demand_set_failure(a->run.mpi.demand, failed->text);
    else
        pmix_demand_set_ready(a->run.mpi.demand, a->run.mpi.pmix);
    demand_serve(a);
}

/* Starts the server, once. */
static void demand_begin(struct agent *a)
{
    if (!pmix_demand_begin(a->run.mpi.demand))
        return;
    a->run.mpi.needs_pmix = true;
    a->run.mpi.done = demand_end;
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
    return found->kind == MPI_KIND_PMIX && found->is_by_python && is_demandable(a->run.job) &&
           !a->run.job->options.elastic && a->run.place.shim[0];
}

static void on_pmix_asked(int index, const char *python, void *arg)
{
    struct agent *a = arg;

    if (python && !rank_mpi_look_python(a, a->run.ranks.all[index].job->app, python)) {
        pmi_pmix(a->run.mpi.pmi, index, NULL);
        return;
    }
    if (a->run.job->options.elastic) {
        demand_refuse(a, index, !python, NO_PMIX);
        return;
    }
    pmix_demand_add(a->run.mpi.demand, index, !python);
    demand_begin(a);
    demand_serve(a);
}

void rank_mpi_choose(struct agent *a, void (*done)(struct agent *a, const struct fault *failed))
{
    const struct job_spec *job = a->run.job;
    struct rank_mpi *m = &a->run.mpi;
    bool is_pmix = job->options.mpi == MPI_PMIX;
    struct fault why;

    m->done = done;
    m->serves_pmi = calloc((size_t)job->app_count, sizeof(*m->serves_pmi));
    m->knows_python = calloc((size_t)job->app_count, sizeof(*m->knows_python));
    if (!m->serves_pmi || !m->knows_python) {
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
        if (job->options.mpi == MPI_AUTO && !a->run.place.container)
            rank_mpi_look_app(a, i, &found);
        is_later = is_for_later(a, &found);
        is_pmix |= found.kind == MPI_KIND_PMIX && !is_later;
        m->needs_pmix |= found.kind == MPI_KIND_PMIX && found.is_certain;
        m->serves_pmi[i] = kind_is_served(job->options.mpi, found.kind);
        m->knows_python[i] = found.is_python && !is_later;
    }
    m->needs_pmix |= job->options.mpi == MPI_PMIX;
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
    return a->run.mpi.needs_pmix;
}

void rank_mpi_agree(struct agent *a, bool is_pmix, bool needs_pmix,
                    void (*done)(struct agent *a, const struct fault *failed))
{
    a->run.mpi.done = done;
    a->run.mpi.needs_pmix |= needs_pmix;
    if (is_pmix && !a->run.mpi.serves_pmix)
        pmix_start(a);
    else
        mpi_done(a, NULL);
}

bool rank_mpi_is_pmix(const struct agent *a)
{
    return a->run.mpi.serves_pmix;
}

const char *rank_mpi_asks(const struct agent *a, int app)
{
    if (!is_demandable(a->run.job) || !rank_mpi_is_served(a, app))
        return NULL;
    return a->run.mpi.knows_python[app] ? "" : "p";
}

const char *const *rank_mpi_variables(const struct agent_rank *r)
{
    const struct agent *a = r->agent;

    return a->run.mpi.serves_pmix && !r->is_added
               ? pmix_helper_variables(a->run.mpi.pmix, (int)(r - a->run.ranks.all))
               : NULL;
}

void rank_mpi_reaped(struct agent *a, pid_t pid, int status)
{
    if (a->run.mpi.pmix)
        pmix_helper_reaped(a->run.mpi.pmix, pid, status);
}

bool rank_mpi_has_finished(const struct agent *a)
{
    return !a->run.mpi.pmix || pmix_helper_has_finished(a->run.mpi.pmix);
}

void rank_mpi_finish(struct agent *a)
{
    if (a->run.mpi.pmix)
        pmix_helper_finish(a->run.mpi.pmix);
}

/* --- PMI-1 ------------------------------------------------------------------------------------ */

bool rank_mpi_is_served(const struct agent *a, int app)
{
    return !a->run.mpi.serves_pmix && a->run.mpi.serves_pmi[app];
}

static bool is_any_served(const struct agent *a)
{
    for (int i = 0; i < a->run.job->app_count; i++) {
        if (rank_mpi_is_served(a, i))
            return true;
    }
    return false;
}

/* --- programs that are apart from the job ---------------------------------------------------- */

static pid_t apart_pid(int index, void *arg)
{
    const struct agent *a = arg;
    const struct agent_rank *r = &a->run.ranks.all[index];
    bool has_come = a->run.mpi.pmi && !r->is_added && !pmi_rank_is_silent(a->run.mpi.pmi, index);

    if (r->state != RANK_RUNNING || has_come)
        return 0;
    return a->run.place.container ? container_process(a->run.place.container, index) : r->pid;
}

static int apart_open(struct agent *a, struct fault *why)
{
    const struct mpi_apart_config config = {.base = a->base,
                                            .rank_count = a->run.job->rank_count,
                                            .rank_pid = apart_pid,
                                            .on_found = on_fault,
                                            .arg = a};

    if (a->run.job->options.mpi == MPI_NONE || a->run.job->size == 1 || a->run.mpi.apart)
        return 0;
    return mpi_apart_open(&a->run.mpi.apart, &config, why);
}

/* The preloaded library has told the user why, and leaves a mark for the agent. */
static void apart_check(struct agent_rank *r)
{
    char mark[JOB_DIRECTORY_PATH + 64];

    snprintf(mark, sizeof(mark), "%s/" MPI_APART_PREFIX "%d", r->agent->directory.path,
             r->job->rank);
    if (access(mark, F_OK) == 0)
        job_report_fault(r->agent, r->job->rank,
                         "has run an MPI program that was not served, and a job of its own: a "
                         "warning says why (--mpi none permits it)");
}

int rank_mpi_open(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;
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
    if (is_demandable(job) && pmix_demand_create(&a->run.mpi.demand, job->rank_count, why))
        return why->code;
    config.ranks = ranks = calloc((size_t)job->rank_count, sizeof(*ranks));
    config.apps = apps = calloc((size_t)job->rank_count, sizeof(*apps));
    for (int i = 0; ranks && apps && i < job->rank_count; i++) {
        ranks[i] = job->ranks[i].rank;
        apps[i] = job->ranks[i].app;
    }
    rc = ranks && apps ? pmi_open(&a->run.mpi.pmi, a->base, &config, &events, why)
                       : fault_set(why, ML_ERR_MEMORY, "out of memory");
    free(ranks);
    free(apps);
    return rc;
}

void rank_mpi_close(struct agent *a)
{
    struct rank_mpi *m = &a->run.mpi;

    mpi_apart_close(m->apart);
    pmi_close(m->pmi);
    pmix_helper_close(m->pmix);
    pmix_demand_destroy(m->demand);
    free(m->serves_pmi);
    free(m->knows_python);
    *m = (struct rank_mpi){0};
}

int rank_mpi_socket(struct agent_rank *r, int *fd, struct fault *why)
{
    struct agent *a = r->agent;

    *fd = -1;
    return rank_mpi_is_served(a, r->job->app) && !r->is_added
               ? pmi_rank_open(a->run.mpi.pmi, (int)(r - a->run.ranks.all), fd, why)
               : 0;
}

bool rank_mpi_hold(struct agent *a, void (*release)(struct agent *a))
{
    a->run.mpi.release = release;
    return a->run.mpi.pmix && pmix_helper_ask(a->run.mpi.pmix);
}

void rank_mpi_ended(struct agent_rank *r, bool has_succeeded)
{
    const struct rank_mpi *m = &r->agent->run.mpi;
    int index = (int)(r - r->agent->run.ranks.all);

    if (r->is_added)
        return;
    if (has_succeeded && m->apart)
        apart_check(r);
    if (m->pmi)
        pmi_rank_ended(m->pmi, index, has_succeeded);
    if (m->pmix)
        pmix_helper_rank_ended(m->pmix, index, has_succeeded);
}
