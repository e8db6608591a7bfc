/* SPDX-License-Identifier: MIT */
#include "launcher/exec_command.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/text/string_list.h"
#include "launcher/commands/exec_output.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/input/plan/plan_hosts.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/job/job.h"
#include "launcher/run/state/job_round_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_end(int rank, int status, void *arg)
{
    exec_output_end(arg, rank, status);
}

static int output_print(struct exec_output *o, bool json, struct fault *why)
{
    json_t *list, *all;
    int rc;

    if (!json)
        return exec_output_print(o, why);
    list = exec_output_json(o);
    all = list ? json_pack("{s:o}", "hosts", list) : NULL;
    rc = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0
             ? 0
             : fault_set(why, ML_ERR_SYSTEM, "cannot print the JSON");
    putchar('\n');
    json_decref(all);
    return rc;
}

/* Runs the job, then prints what has been gathered. */
static int job_exec(struct plan *p, const char *id, struct exec_output *o, bool json)
{
    const struct output_sink sink = exec_output_sink(o);
    const struct rank_results results = {on_end, o};
    const struct job_config config = {.sink = &sink, .results = &results};
    int job = job_run(p, id, &config), hosts = exec_output_status(o);
    struct fault why;

    if (output_print(o, json, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    /* A job that a signal has ended says so itself. */
    return job > hosts || job >= STATUS_SIGNAL ? job : hosts;
}

/* Runs the command on all hosts of the plan, and returns mlaunch's exit status. */
static int plan_exec(struct plan *p, bool json)
{
    const char **names = calloc((size_t)p->where->size, sizeof(*names));
    struct exec_output *output = NULL;
    char id[JOB_ID_SIZE];
    struct fault why;
    int status = STATUS_OURS, rc = job_identity_name(id, &why);

    for (int i = 0; i < p->where->size && names; i++)
        names[i] = plan_host(p, p->where->ranks[i].host)->name;
    if (names)
        output = exec_output_create(names, p->where->size, json);
    if (!rc && !output)
        rc = fault_set(&why, ML_ERR_MEMORY, "out of memory for %d hosts", p->where->size);
    if (rc)
        log_error("%s", why.text);
    else
        status = job_exec(p, id, output, json);
    exec_output_destroy(output);
    free(names);
    return status;
}

static const struct option own[] = {
    {.name = "exclude", .argument = "LIST", .help = "leave these of the hosts out"},
    {.name = "json", .help = "a list of hosts, each with status, stdout and stderr"},
    {0}};

static const struct command_hint hints[] = {
    {"-b", "equal outputs are always printed once, behind the hosts that wrote them"},
    {"-g", "-H or --hostfile names the hosts"},
    {NULL, NULL}};

static const char *const without[] = {
    "np",        "ppn",     "output",         "pty",          "stdin",   "events",
    "record",    "trace",   "compare-hashes", "timestamp",    "summary", "name",
    "detach",    "version", "restarts",       "gdb",          "check",   "evict-slow",
    "stage-env", "words",   "stage-cache",    "await",        "listen",  "key-file",
    "elastic",   "fanout",  "container",      "replace-wait", "keep",    NULL};

static const struct command_syntax syntax = {
    .name = "exec",
    .usage = "usage: mlaunch exec [OPTIONS] [--] COMMAND [ARG...]\n"
             "\n"
             "Runs COMMAND once on each host, all at the same time, without the library. When\n"
             "all have ended, each output is printed once, behind the hosts that wrote it:\n"
             "\n"
             "    $ mlaunch exec -H '[a-h]' -- uname -r\n"
             "    [a,c-h] 6.1.0-28\n"
             "    [b] 6.1.0-26\n"
             "\n"
             "A host that cannot be reached or dies is named; the others go on. The exit\n"
             "status is the largest of the commands' (125: on some host it could not be run).",
    .ending = "And run's options that say where and how: -H, --hostfile, -x, --cwd, --stage,\n"
              "--timeout, --ssh-config, ... (mlaunch --help).",
    .own = own,
    .hints = hints,
    .borrows_all = true,
    .without = without,
    .why_without =
        "it runs one command once on each host and gathers its output; mlaunch run --ppn "
        "1 --backend none does not",
    .words = COMMAND_PROGRAMS};

/* clush's and pdsh's -x leaves a host out; here it passes on a variable. */
static int variables_check(const struct command_line *line, const struct options *o,
                           struct fault *why)
{
    struct host_list *list = NULL;
    int rc = plan_hosts_find(&list, o, environ, why);

    for (size_t i = 0; i < line->settings.count && !rc; i++) {
        const struct setting *s = &line->settings.items[i];
        const struct host h = {.name = s->value};

        if (strcmp(s->option->name, "env") == 0 && !strchr(s->value, '=') && !getenv(s->value) &&
            host_list_finish_find(list, &h, NULL) >= 0)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "-x %s: %s is a host; --exclude %s leaves it out, -x passes on a "
                           "variable",
                           s->value, s->value, s->value);
    }
    host_list_destroy(list);
    return rc;
}

/* Once a host, a plain process. */
static int options_settle(struct options *o, const struct command_line *line, struct fault *why)
{
    const char *exclude = command_line_value(line, "exclude");
    int rc = exclude ? string_copy(&o->exclude, exclude, why) : 0;

    if (!rc)
        rc = variables_check(line, o, why);
    if (rc)
        return rc;
    if (o->app_count > 1)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch exec runs one command: leave ':' out");
    o->ppn = 1;
    o->backend = BACKEND_NONE;
    o->oversubscribe = true;
    o->no_compat = true;
    return string_copy(&o->stdin_to, "none", why);
}

int exec_command_run(int argc, char **argv)
{
    struct command_line line = {0};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why;
    int status = STATUS_OURS, rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.action) {
        command_syntax_print_help(&syntax);
        command_line_clear(&line);
        return 0;
    }
    if (!rc)
        rc = options_load_line(&o, &line, &why);
    if (!rc)
        rc = options_settle(o, &line, &why);
    if (!rc) {
        log_open("mlaunch", (enum log_level)(LOG_WARN + o->verbose));
        rc = plan_create(&p, o, environ, &why);
    }
    if (rc) {
        log_error("%s", why.text);
    } else if (o->dry_run) {
        plan_print(p);
        status = 0;
    } else {
        p->output = p->where->size == 1 ? OUTPUT_RAW : OUTPUT_LABEL;
        p->job.mpi = MPI_NONE; /* none is a rank of the others */
        status = plan_exec(p, command_line_value(&line, "json") != NULL);
    }
    plan_destroy(p);
    options_destroy(o);
    command_line_clear(&line);
    return status;
}
