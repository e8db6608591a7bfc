/* SPDX-License-Identifier: MIT */
/* top_main.c: mlaunch-top, which mlaunch becomes for `mlaunch top`: shows what hosts, jobs and
 * ranks do, live or as text. */
#include "common/text/number.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/process/program_main.h"
#include "launcher/tools/top/top_run.h"

#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EVERY_MOST_S = 86400, VIEWS_MOST = 1000000 };

struct top_run {
    struct query_command c;
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
                     "--sort: '%.80s' is not rank, cpu, mem, calls, bytes or wait", name);
}

static int options_check(struct top_run *r, struct fault *why)
{
    const char *every = query_command_flag(&r->c, "every");
    const char *views = query_command_flag(&r->c, "batch");
    const char *column = query_command_flag(&r->c, "sort");

    if (every && !number_parse(every, 1, EVERY_MOST_S, &r->every_s))
        return fault_set(why, ML_ERR_ARGUMENT, "--every needs a number of seconds from 1 to %d",
                         EVERY_MOST_S);
    if (views && !number_parse(views, 1, VIEWS_MOST, &r->views))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--batch: '%.80s' is not a number of views, from 1 "
                         "to %d",
                         views, VIEWS_MOST);
    if (!views && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch top needs a terminal for its input and output; mlaunch top "
                         "--batch writes text");
    return column ? column_read(&r->column, column, why) : 0;
}

static int top_run(void *arg, int *status, struct fault *why)
{
    struct top_run *r = arg;
    struct event_base *base;
    int rc = options_check(r, why);

    if (rc)
        return rc;
    base = event_base_new();
    if (!base)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    signal(SIGPIPE, SIG_IGN);
    if (r->views)
        rc = top_batch_run(base, &r->c, (int)r->every_s, (int)r->views, r->column, status, why);
    else
        rc = top_live_run(base, &r->c, (int)r->every_s, r->column, status, why);
    event_base_free(base);
    return rc;
}

static int top_command_run(int argc, char **argv)
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
         .argument = "[N]",
         .otherwise = "1",
         .help = "print N views (1) as text; needs no terminal"},
        {0}};
    struct top_run r = {.c = {.syntax = {.name = "top",
                                         .usage = "usage: mlaunch top [OPTIONS] [JOB]\n\n"
                                                  "Shows live what the given hosts, their RDMA "
                                                  "ports, the jobs there and their\n"
                                                  "ranks do: processor time, memory, calls, bytes "
                                                  "on each kind of link, and who\n"
                                                  "waits for whom. With JOB, an id or a name, only "
                                                  "that one. The key h lists all\n"
                                                  "keys, q quits.",
                                         .own = flags,
                                         .hints = hints,
                                         .words_most = 1},
                              .asks_guests = true},
                        .every_s = 1};

    return query_command_run(&r.c, argc, argv, top_run, &r);
}

int main(int argc, char **argv)
{
    static const struct program_word words[] = {{"top", top_command_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
