/* SPDX-License-Identifier: MIT */
#include "launcher/commands/commands.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/base/machine/job_register.h"
#include "launcher/base/text/text_file.h"
#include "launcher/base/text/text_table.h"
#include "launcher/commands/log_view.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/option_value.h"
#include "launcher/run/log/log_directory.h"

#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_NOT_THERE = 1 };

struct logs_options {
    bool follows, json;
    int lines;
};

#define OF(member) .field = offsetof(struct logs_options, member)

static const struct option own[] = {
    {.name = "follow",
     .letter = 'f',
     .help = "go on until the job has ended",
     .set = option_value_flag,
     OF(follows)},
    {.name = "lines",
     .letter = 'n',
     .argument = "N",
     .help = "only the last N lines",
     .set = option_value_number,
     .max = INT_MAX,
     OF(lines)},
    {.name = "json", .help = "the list of logs as JSON", .set = option_value_flag, OF(json)},
    {0}};

static const struct command_hint hints[] = {
    {"--tail", "-n 5 prints the last 5 lines, -f goes on until the job has ended"},
    {"--since",
     "lines have no times here, unless the job had --timestamp; -n 100 prints the last 100"},
    {NULL, NULL}};

static const struct command_syntax syntax = {
    .name = "logs",
    .usage = "usage: mlaunch logs [OPTIONS] [JOB]\n\n"
             "Prints what the job with that id or name has written, which was started here\n"
             "with --detach; without JOB, lists the logs that there are.",
    .own = own,
    .hints = hints,
    .words = COMMAND_MIXED,
    .words_most = 1};

static void list_print_json(const struct log_list *l)
{
    json_t *all = json_array();

    for (int i = 0; i < l->count; i++) {
        const struct log_entry *e = &l->entries[i];

        json_array_append_new(all, json_pack("{ss ss ss sb sI}", "job", e->id, "job_name", e->name,
                                             "path", e->path, "running", (int)e->is_running, "size",
                                             (json_int_t)e->size));
    }
    text_json_print(json_pack("{so}", "logs", all));
}

static void list_print(const struct log_list *l)
{
    static const char *const head[] = {"NAME", "JOB", "STATE", "BYTES", "LOG", NULL};
    struct text_table *t = l->count ? text_table_create(head, "lllrl") : NULL;
    char size[32];

    if (!l->count)
        puts("no logs: only jobs that are started with --detach have one");
    for (int i = 0; i < l->count && t; i++) {
        const struct log_entry *e = &l->entries[i];

        snprintf(size, sizeof(size), "%lld", (long long)e->size);
        text_table_add(t, (const char *const[]){e->name, e->id, e->is_running ? "running" : "ended",
                                                size, e->path, NULL});
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
}

/* Says why a job that was started here has no log. False: there is no such job. */
static bool foreground_say(const char *job)
{
    struct register_list here;
    bool is_found = false;
    char shown[TEXT_SHOWN];

    if (job_register_list(&here, user_directory_base(), NULL))
        return false;
    for (size_t i = 0; i < here.count && !is_found; i++) {
        const struct register_found *f = &here.found[i];

        if (!f->lives || !job_register_is_asked(f, job))
            continue;
        is_found = true;
        log_error("job %s has no log: its mlaunch, process %lld, was started without --detach, and "
                  "its output goes to where that was",
                  text_show(shown, job), (long long)f->entry.file.agent_pid);
    }
    job_register_list_clear(&here);
    return is_found;
}

static int log_print(const struct log_list *l, const char *job, const struct logs_options *o)
{
    const struct log_entry *e = log_directory_choose(l, job);
    char shown[TEXT_SHOWN], ids[512];
    int running = log_directory_running(l, job, ids, sizeof(ids));
    struct fault why;

    if (running > 1) {
        log_error("%d jobs have the name %s: %s; give the id of one", running,
                  text_show(shown, job), ids);
        return STATUS_NOT_THERE;
    }
    if ((!e || !e->is_running) && foreground_say(job))
        return STATUS_NOT_THERE;
    if (!e) {
        log_error("there is no log of a job %s; mlaunch logs lists those that were started from "
                  "here with --detach",
                  text_show(shown, job));
        return STATUS_NOT_THERE;
    }
    if (log_view_print(&(struct log_view){.path = e->path,
                                          .lines = o->lines,
                                          .follows = o->follows,
                                          .is_printable = isatty(STDOUT_FILENO)},
                       &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    return 0;
}

int logs_command_run(int argc, char **argv)
{
    struct logs_options o = {.lines = -1};
    struct command_line line = {0};
    struct log_list l = {0};
    int status = 0, rc;
    struct fault why;

    rc = command_line_read(&line, &syntax, &o, argc, argv, &why);
    if (!rc && !line.action)
        rc = log_directory_list(&l, &why);
    if (rc) {
        log_error("%s", why.text);
        status = STATUS_OURS;
    } else if (line.action) {
        command_syntax_print_help(&syntax);
    } else if (line.words.count) {
        status = log_print(&l, line.words.items[0], &o);
    } else if (o.json) {
        list_print_json(&l);
    } else {
        list_print(&l);
    }
    free(l.entries);
    command_line_clear(&line);
    return status;
}
