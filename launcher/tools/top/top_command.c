/* SPDX-License-Identifier: MIT */
/* top_command.c: `mlaunch top` shows what hosts, jobs and ranks do, live or as text. */
#include "launcher/tools/top/top_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/ask/query_command.h"
#include "launcher/tools/top/top_batch.h"
#include "launcher/tools/top/top_live.h"

#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_NOT_THERE = 1, EVERY_MOST_S = 86400, VIEWS_MOST = 1000000 };

struct top_options {
    int64_t every_s, views; /* views: 0: on a terminal */
    enum top_column column;
};

static int column_read(enum top_column *out, const char *name, struct fault *why)
{
    for (int i = 0; i < TOP_COLUMNS; i++) {
        if (strcmp(name, top_column_names[i]) == 0) {
            *out = (enum top_column)i;
            return 0;
        }
    }
    return fault_set(why, ML_ERR_ARGUMENT,
                     "--sort: '%.80s' is none of rank, cpu, mem, calls, bytes and wait", name);
}

static int options_check(struct top_options *o, const struct query_command *c, struct fault *why)
{
    const char *every = query_command_flag(c, "every"), *views = query_command_flag(c, "batch");
    const char *column = query_command_flag(c, "sort");

    if (every && !number_parse(every, 1, EVERY_MOST_S, &o->every_s))
        return fault_set(why, ML_ERR_ARGUMENT, "--every needs a number of seconds from 1 to %d",
                         EVERY_MOST_S);
    if (views && !number_parse(views, 1, VIEWS_MOST, &o->views))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--batch: '%.80s' is not a number of views, from 1 "
                         "to %d",
                         views, VIEWS_MOST);
    if (!views && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch top needs a terminal for its input and output; mlaunch top "
                         "--batch writes text");
    return column ? column_read(&o->column, column, why) : 0;
}

/* Stores the exit status. */
static int batch_run(struct event_base *base, const struct query_command *c,
                     const struct top_options *o, int *status, struct fault *why)
{
    int missing = 0;
    size_t jobs = 0;
    int rc =
        top_batch_run(base, c, (int)o->every_s, (int)o->views, o->column, &missing, &jobs, why);

    if (!rc && !missing && *c->job && jobs == 0) {
        log_error("there is no job %s here; mlaunch ps lists all", c->job);
        *status = STATUS_NOT_THERE;
    } else if (!rc) {
        *status = missing ? STATUS_OURS : 0;
    }
    return rc;
}

static int view_run(const struct query_command *c, const struct top_options *o, int *status,
                    struct fault *why)
{
    struct event_base *base = event_base_new();
    int rc, ended_by = 0;

    if (!base)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    signal(SIGPIPE, SIG_IGN);
    if (o->views) {
        rc = batch_run(base, c, o, status, why);
    } else {
        rc = top_live_run(base, c, (int)o->every_s, o->column, &ended_by, why);
        *status = rc ? STATUS_OURS : ended_by ? STATUS_SIGNAL + ended_by : 0;
    }
    event_base_free(base);
    return rc;
}

int top_command_run(int argc, char **argv)
{
    static const char every[] = "--every SECONDS says how often",
                      views[] = "--batch N prints N views";
    static const struct command_hint hints[] = {
        {"-d", every}, {"--delay", every}, {"-n", views}, {"--once", views}, {NULL, NULL}};
    static const struct option flags[] = {
        {.name = "every", .argument = "SECONDS", .help = "ask the hosts again every SECONDS (1)"},
        {.name = "sort",
         .argument = "rank|cpu|mem|calls|bytes|wait",
         .help = "sort jobs and their ranks by that column; default: rank"},
        {.name = "batch",
         .letter = 'b',
         .argument = "N",
         .otherwise = "1",
         .help = "print N views (1) as text; needs no terminal"},
        {0}};
    struct query_command c = {
        .syntax = {
            .name = "top",
            .usage =
                "usage: mlaunch top [OPTIONS] [JOB]\n\n"
                "Shows live what the given hosts, their RDMA ports, the jobs there and their\n"
                "ranks do: processor time, memory, calls, bytes on each kind of link, and who\n"
                "waits for whom. With JOB, an id or a name, only that one. The key h lists all\n"
                "keys, q quits.",
            .own = flags,
            .hints = hints,
            .words_most = 1}};
    struct top_options o = {.every_s = 1};
    int status = STATUS_OURS, rc;
    struct fault why;

    rc = query_command_open(&c, argc, argv, &why);
    if (!rc && c.is_done) {
        status = 0;
    } else if (!rc) {
        rc = options_check(&o, &c, &why);
        if (!rc)
            rc = view_run(&c, &o, &status, &why);
    }
    if (rc)
        log_error("%s", why.text);
    query_command_close(&c);
    return status;
}
