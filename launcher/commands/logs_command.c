/* SPDX-License-Identifier: MIT */
#include "launcher/commands/logs_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "common/text/printable.h"
#include "launcher/base/text/text_file.h"
#include "launcher/base/text/text_table.h"
#include "launcher/commands/log_view.h"
#include "launcher/input/options/option_help.h"
#include "launcher/run/job/log_directory.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_NOT_THERE = 1 };

struct logs_words {
    const char *job;
    bool follows, json, is_help;
    int64_t lines;
};

static const struct option logs_options[] = {
    {.name = "follow", .letter = 'f', .help = "go on until the job has ended"},
    {.name = "lines", .letter = 'n', .argument = "N", .help = "only the last N lines"},
    {.name = "json", .help = "the list of logs as JSON"},
    {.name = "help", .letter = 'h', .help = "print this"},
};

static void help_print(void)
{
    puts("usage: mlaunch logs [OPTIONS] [JOB]\n\n"
         "Prints what the job with that id or name has written, which was started here\n"
         "with --detach; without JOB, lists the logs that there are.\n");
    for (size_t i = 0; i < sizeof(logs_options) / sizeof(*logs_options); i++)
        option_help_print(&logs_options[i]);
}

/* The value of --lines, if `word` is that option: "-n5", "-n 5", "--lines 5", "--lines=5"; else
 * NULL. */
static const char *lines_value(const char *word, char **argv, int argc, int *at)
{
    if (strncmp(word, "--lines=", 8) == 0)
        return word + 8;
    if (strncmp(word, "-n", 2) == 0 && word[2])
        return word + 2 + (word[2] == '=');
    if (strcmp(word, "--lines") != 0 && strcmp(word, "-n") != 0)
        return NULL;
    return *at + 1 < argc ? argv[++*at] : "";
}

static int args_parse(struct logs_words *w, int argc, char **argv, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (int i = 1; i < argc && !w->is_help; i++) {
        const char *word = argv[i], *lines = lines_value(word, argv, argc, &i);

        if (lines && !number_parse(lines, 0, INT64_MAX, &w->lines))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "mlaunch logs: '%s' is not a number of lines: --lines N",
                             text_show(shown, lines));
        if (lines)
            continue;
        if (strcmp(word, "-f") == 0 || strcmp(word, "--follow") == 0)
            w->follows = true;
        else if (strcmp(word, "--json") == 0)
            w->json = true;
        else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
            w->is_help = true;
        else if (word[0] == '-')
            return fault_set(why, ML_ERR_ARGUMENT,
                             "mlaunch logs: unknown option %s; mlaunch logs --help lists all",
                             text_show(shown, word));
        else if (w->job || !*word)
            return fault_set(why, ML_ERR_ARGUMENT, "mlaunch logs: unexpected argument '%s'",
                             text_show(shown, word));
        else
            w->job = word;
    }
    return 0;
}

static void list_print_json(const struct log_list *l)
{
    json_t *all = json_array(), *root = json_pack("{so}", "logs", all);
    char *text;

    for (int i = 0; i < l->count; i++) {
        const struct log_entry *e = &l->entries[i];

        json_array_append_new(all, json_pack("{ss ss ss sb sI}", "job", e->id, "job_name", e->name,
                                             "path", e->path, "running", (int)e->is_running, "size",
                                             (json_int_t)e->size));
    }
    text = json_dumps(root, JSON_INDENT(2));
    printable_print("%s\n", text ? text : "{}");
    free(text);
    json_decref(root);
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

static int log_print(const struct log_list *l, const struct logs_words *w)
{
    const struct log_entry *e = log_directory_choose(l, w->job);
    char shown[TEXT_SHOWN];
    struct fault why;

    if (!e) {
        log_error("there is no log of a job %s; mlaunch logs lists those that were started from "
                  "here with --detach",
                  text_show(shown, w->job));
        return STATUS_NOT_THERE;
    }
    if (log_view_print(&(struct log_view){.path = e->path,
                                          .lines = w->lines,
                                          .follows = w->follows,
                                          .is_printable = isatty(STDOUT_FILENO)},
                       &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    return 0;
}

int logs_command_run(int argc, char **argv)
{
    struct logs_words w = {.lines = -1};
    struct log_list l = {0};
    int status = 0, rc;
    struct fault why;

    rc = args_parse(&w, argc, argv, &why);
    if (!rc && !w.is_help)
        rc = log_directory_list(&l, &why);
    if (rc) {
        log_error("%s", why.text);
        status = STATUS_OURS;
    } else if (w.is_help) {
        help_print();
    } else if (w.job) {
        status = log_print(&l, &w);
    } else if (w.json) {
        list_print_json(&l);
    } else {
        list_print(&l);
    }
    free(l.entries);
    return status;
}
