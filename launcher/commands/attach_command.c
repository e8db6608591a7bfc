/* SPDX-License-Identifier: MIT */
#include "launcher/commands/attach_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/commands/attach_find.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/run/job/job.h"
#include "launcher/run/round/job_identity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attach {
    struct string_list words; /* for options_load: run's options, and a program */
    const char *job;
    int rank;
    char *const *command; /* NULL-terminated; empty: the default */
    bool wants_help;
};

/* The options, which are run's. Returns the index of the first word behind them, or -1. */
static int options_take(struct attach *a, int argc, char **argv, struct fault *why)
{
    int i = 1;

    if (string_list_add(&a->words, "mlaunch", why) || string_list_add(&a->words, "run", why))
        return -1;
    while (i < argc && argv[i][0] == '-') {
        int values = command_line_arguments(argv[i], argv[i + 1]);

        a->wants_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        if (string_list_add(&a->words, argv[i++], why))
            return -1;
        for (; values > 0 && i < argc; values--)
            if (string_list_add(&a->words, argv[i++], why))
                return -1;
    }
    return i;
}

static int args_parse(struct attach *a, int argc, char **argv, struct fault *why)
{
    int i = options_take(a, argc, argv, why);
    char shown[TEXT_SHOWN];
    int64_t rank;

    if (i < 0)
        return why->code;
    if (a->wants_help)
        return 0;
    if (argc - i < 2)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "write mlaunch attach JOB RANK; mlaunch ps shows the jobs");
    if (!number_parse(argv[i + 1], 0, INT_MAX, &rank))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a rank: a whole number from 0",
                         text_show(shown, argv[i + 1]));
    a->job = argv[i];
    a->rank = (int)rank;
    i += 2;
    if (i < argc && strcmp(argv[i], "--") == 0)
        i++;
    a->command = argv + i;
    return string_list_add(&a->words, "sh", why); /* until the rank is found */
}

/* Refuses what has no meaning here, and settles the rest: one plain process. */
static int options_settle(struct options *o, struct fault *why)
{
    const char *name = o->apps[0].np                          ? "-n"
                       : o->ppn > 1                           ? "--ppn"
                       : o->output                            ? "--output"
                       : o->stdin_to                          ? "--stdin"
                       : o->job.name                          ? "--name"
                       : o->detach                            ? "--detach"
                       : o->wraps.count || o->gdb || o->chaos ? "--wrap, --gdb or --chaos"
                       : o->apps[0].cwd                       ? "--cwd"
                                                              : NULL;

    if (name)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch attach runs one command beside a rank: leave %s out", name);
    o->ppn = 1;
    o->backend = BACKEND_NONE;
    o->oversubscribe = true;
    o->no_compat = true;
    o->pty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    return 0;
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
                       struct fault *why)
{
    struct attach_place place;
    int rc = attach_find(&place, p, o, a->job, a->rank, why);
    int rank = 0;

    if (!rc) {
        while (rank < p->size - 1 && p->hosts[p->ranks[rank].host] != place.host)
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

static void help_print(void)
{
    puts("usage: mlaunch attach [OPTIONS] JOB RANK [--] [COMMAND [ARG...]]\n"
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
         "JOB is an id that mlaunch ps shows, or a --name. Options are run's that say where\n"
         "the job's hosts are: -H, --hostfile, --ssh-config, ... (mlaunch --help).");
}

int attach_command_run(int argc, char **argv)
{
    struct attach a = {0};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why;
    char id[JOB_ID_SIZE];
    int status = STATUS_OURS, rc = args_parse(&a, argc, argv, &why);

    if (!rc && a.wants_help) {
        help_print();
        string_list_clear(&a.words);
        return 0;
    }
    if (!rc)
        rc = options_load(&o, (int)a.words.count, a.words.items, &why);
    if (!rc)
        rc = options_settle(o, &why);
    if (!rc) {
        log_open("mlaunch", (enum log_level)(LOG_WARN + o->verbose));
        rc = plan_create(&p, o, environ, &why);
    }
    if (!rc)
        rc = plan_settle(p, o, &a, &why);
    if (!rc)
        rc = job_identity_name(id, &why);
    if (rc)
        log_error("%s", why.text);
    else
        status = job_run(p, id, NULL);
    plan_destroy(p);
    options_destroy(o);
    string_list_clear(&a.words);
    return status;
}
