/* SPDX-License-Identifier: MIT */
#include "launcher/attach_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/ask/register_hosts.h"
#include "launcher/ask/started_here.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/commands/attach_find.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/job/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const without[] = {
    "np",        "ppn",       "output",       "stdin", "pty",    "name",     "detach",
    "json",      "wrap",      "gdb",          "chaos", "cwd",    "dry-run",  "version",
    "stage-env", "words",     "stage-cache",  "await", "listen", "key-file", "elastic",
    "fanout",    "container", "replace-wait", "keep",  NULL};

static const struct command_syntax syntax = {
    .name = "attach",
    .usage = "usage: mlaunch attach [OPTIONS] JOB RANK [--] [COMMAND [ARG...]]\n"
             "\n"
             "Runs COMMAND on the host of a rank of your job, in the directory and environment\n"
             "that the rank was started with; on a terminal if this is one. In its words {pid}\n"
             "is the rank's process, {rank} its number, {host} its host. Without COMMAND: gdb -p\n"
             "{pid} where gdb is, else your shell. The rank's job goes on, and may end,\n"
             "independently of it. The exit status is the command's.\n"
             "\n"
             "    $ mlaunch attach 1ng7vf7-s50j80 3\n"
             "    $ mlaunch attach -H a,b train 3 -- py-spy dump -p {pid}\n"
             "\n"
             "JOB is an id that mlaunch ps shows, or a --name. If it was started on another\n"
             "machine, options of run say where its hosts are: -H, --hostfile, --ssh-config,\n"
             "... (mlaunch --help).",
    .borrows_all = true,
    .without = without,
    .why_without = "it runs one command beside a rank",
    .words = COMMAND_REST};

struct attach {
    const char *job;
    int rank;
    char *const *command; /* NULL-terminated; empty: the default */
};

/* The words behind the options. */
static int words_take(struct attach *a, int argc, char *const *argv, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t rank;

    if (argc < 2)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "write mlaunch attach JOB RANK; mlaunch ps shows the jobs");
    if (!number_parse(argv[1], 0, INT_MAX, &rank))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a rank: a whole number from 0",
                         text_show(shown, argv[1]));
    a->job = argv[0];
    a->rank = (int)rank;
    a->command = argv + 2 + (argc > 2 && strcmp(argv[2], "--") == 0);
    return 0;
}

/* One plain process. */
static int options_settle(struct options *o, struct fault *why)
{
    struct string_list words = {0};
    int rc = string_list_add(&words, "sh", why); /* until the rank is found */

    o->ppn = 1;
    o->backend = BACKEND_NONE;
    o->oversubscribe = true;
    o->no_compat = true;
    o->pty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    return rc ? rc : string_list_release(&words, &o->apps[0].argv, why);
}

/* Puts the command into the plan: the user's, else a debugger of the process, else a shell. */
static int command_settle(struct plan *p, const struct attach *a, const struct attach_place *place,
                          struct fault *why)
{
    char *const debugger[] = {(char *)"gdb", (char *)"-p", (char *)"{pid}", NULL};
    char *const shell[] = {place->shell, NULL};
    char *const *words = *a->command ? a->command : place->has_gdb ? debugger : shell;
    char pid[16], rank[16];
    const struct text_gap gaps[] = {{"{pid}", pid},
                                    {"{rank}", rank},
                                    {"{host}", p->list->hosts[place->host].name},
                                    {NULL, NULL}};
    struct app *app = &p->apps[0];
    struct string_list argv = {0};
    int rc;

    snprintf(pid, sizeof(pid), "%d", place->pid);
    snprintf(rank, sizeof(rank), "%d", a->rank);
    rc = command_words_fill(&argv, words, gaps, why);
    strings_free(app->argv);
    app->argv = NULL;
    if (!rc)
        rc = string_list_release(&argv, &app->argv, why);
    string_list_clear(&argv);
    return rc ? rc : string_copy(&app->cwd, place->cwd, why);
}

/* Leaves of the plan what runs beside the rank. */
static int plan_settle(struct plan *p, const struct options *o, const struct attach *a,
                       const struct register_list *here, struct fault *why)
{
    struct attach_place place;
    int rc = attach_find(&place, p, o, a->job, a->rank, why);
    int rank = 0;

    if (rc == ML_ERR_STATE || (rc && started_here_is_restarting(here, a->job)))
        started_here_explain(why, here, a->job, "attach to");
    if (!rc) {
        while (rank < p->where->size - 1 &&
               p->where->hosts[p->where->ranks[rank].host] != place.host)
            rank++;
        plan_keep_rank(p, rank);
        p->output = OUTPUT_RAW;
        p->leaves_exit = true;
        p->attach_pid = place.pid;
        p->attach_rank = a->rank;
        rc = command_settle(p, a, &place, why);
    }
    attach_place_clear(&place);
    return rc;
}

/* The hosts of a job that was started on this machine, if the user has named none. */
static int hosts_settle(struct options *o, const struct register_list *here, const char *job,
                        struct fault *why)
{
    const struct register_found *f = NULL;
    int rc;

    if (o->hosts || o->hostfile)
        return 0;
    rc = register_hosts_only(&f, here, job, why);
    if (!rc && f)
        rc = register_hosts_text(&o->hosts, f, why);
    if (!rc && f)
        rc = register_hosts_reach(o, f, why);
    return rc;
}

int attach_command_run(int argc, char **argv)
{
    struct command_line line = {0};
    struct attach a = {0};
    struct register_list here = {0};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why;
    char id[JOB_ID_SIZE];
    int status = STATUS_OURS, rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.action) {
        command_syntax_print_help(&syntax);
        command_line_clear(&line);
        return 0;
    }
    if (!rc)
        rc = words_take(&a, argc - line.rest, argv + line.rest, &why);
    if (!rc)
        rc = options_load_line(&o, &line, &why);
    if (!rc)
        rc = options_settle(o, &why);
    if (!rc) {
        log_open("mlaunch", (enum log_level)(LOG_WARN + o->verbose));
        rc = job_register_list(&here, user_directory_base(), &why);
    }
    if (!rc)
        rc = hosts_settle(o, &here, a.job, &why);
    if (!rc)
        rc = plan_create(&p, o, environ, &why);
    if (!rc)
        rc = plan_settle(p, o, &a, &here, &why);
    if (!rc)
        rc = job_identity_name(id, &why);
    if (rc)
        log_error("%s", why.text);
    else
        status = job_run(p, id, NULL);
    job_register_list_clear(&here);
    plan_destroy(p);
    options_destroy(o);
    command_line_clear(&line);
    return status;
}
