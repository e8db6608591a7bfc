/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_mpi_look.h"

#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/mpi/mpi_command.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rank 0's host speaks for the first program, which all or many hosts have. */
static void warning_add(struct agent *a, int app, const char *library)
{
    const struct job_spec *job = a->run.job;

    if (job->size == 1 || (app == 0 && job->host != job->host_of[0]))
        return;
    for (int i = 0; i < app; i++) {
        if (strcmp(job->apps[i].argv[0], job->apps[app].argv[0]) == 0)
            return;
    }
    job_report_warning(
        a,
        "%s needs %s, an MPI that mlaunch cannot serve: it serves MPICH's by PMI-1, and Open "
        "MPI's from version 3 on by PMIx. Each of its ranks will be a job of its own "
        "(--mpi pmi1 tries nevertheless, --mpi none says nothing)",
        job->apps[app].argv[0], library);
}

/* LD_LIBRARY_PATH of an app's ranks, to be freed; it ends with the libraries of --stage-libs. */
static char *library_path_of(const struct agent *a, const struct job_app *p)
{
    char *libraries = received_files_libraries(a->run.place.files, p->file), *path;

    if (asprintf(&path, "%s:%s", job_spec_variable(a->run.job, p, "LD_LIBRARY_PATH"),
                 libraries ? libraries : "") < 0)
        path = NULL;
    free(libraries);
    return path;
}

/* PATH of an app's ranks, to be freed. In front is the copy of --stage-env, by its own path. */
static char *search_path_of(const struct agent *a, const struct job_app *p)
{
    const char *copy = a->run.place.staged ? a->run.place.staged->copy : NULL;
    char *path;

    if (asprintf(&path, "%s%s%s", copy ? copy : "", copy ? "/bin:" : "",
                 job_spec_variable(a->run.job, p, "PATH")) < 0)
        path = NULL;
    return path;
}

static void command_find(const struct agent *a, int app, const char *program,
                         const char *const *argv, struct mpi_command *out)
{
    const struct job_app *p = &a->run.job->apps[app];
    char *library_path = library_path_of(a, p), *path = search_path_of(a, p);
    const struct mpi_command_place place = {
        .path = path ? path : "",
        .library_path = library_path ? library_path : "",
        .python_path = job_spec_variable(a->run.job, p, "PYTHONPATH"),
        .python_version = job_spec_variable(a->run.job, p, "PYENV_VERSION"),
        .home = job_spec_variable(a->run.job, p, "HOME"),
        .cwd = a->run.place.cwds[app]};

    mpi_command_find(out, program, argv, &place);
    free(library_path);
    free(path);
}

void rank_mpi_look_app(struct agent *a, int app, struct mpi_command *out)
{
    const struct job_app *p = &a->run.job->apps[app];

    char *copy = a->run.place.staged
                     ? staged_place_program(a->run.place.staged, a->run.place.cwds[app], p->argv[0])
                     : NULL;

    command_find(a, app,
                 p->file >= 0 ? received_files_path(a->run.place.files, p->file)
                 : copy       ? copy
                              : p->argv[0],
                 p->argv, out);
    free(copy);
    if (out->kind == MPI_KIND_OTHER)
        warning_add(a, app, out->library);
}

bool rank_mpi_look_python(const struct agent *a, int app, const char *python)
{
    const char *const argv[] = {python, NULL};
    struct mpi_command found;

    command_find(a, app, python, argv, &found);
    return found.kind == MPI_KIND_PMIX;
}
