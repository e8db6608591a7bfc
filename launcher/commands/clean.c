/* SPDX-License-Identifier: MIT */
/* clean.c: `mlaunch clean` ends and removes what dead jobs have left. */
#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "launcher/ask/query_command.h"
#include "launcher/run/log/log_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_LEFT = 1, TIMEOUT_MS = 60000 };

static bool is_dry_run(const struct query_command *c)
{
    return query_command_flag(c, "dry-run");
}

/* "host a: job X: process 4711 (sleep)" */
static void leftover_describe(const char *host, json_t *one, char *out, size_t size)
{
    const char *job = object_field_text(one, "job");
    int at =
        snprintf(out, size, "host %s: %s%s%s", host, *job ? "job " : "", job, *job ? ": " : "");

    if (at < 0 || (size_t)at >= size)
        return;
    if (strcmp(object_field_text(one, "kind"), "process") == 0)
        snprintf(out + at, size - (size_t)at, "process %lld (%s)", object_field_whole(one, "pid"),
                 object_field_text(one, "name"));
    else
        snprintf(out + at, size - (size_t)at, "%s %s", object_field_text(one, "kind"),
                 object_field_text(one, "path"));
}

static void removed_print(const char *host, json_t *one, bool dry_run)
{
    bool is_process = strcmp(object_field_text(one, "kind"), "process") == 0;
    char text[1024];

    leftover_describe(host, one, text, sizeof(text));
    printable_print("%s%s\n", text,
                    dry_run      ? is_process ? " would be ended" : " would be removed"
                    : is_process ? " has been ended"
                                 : " has been removed");
}

/* What becomes of the entries here of mlaunch processes that were killed. */
static json_t *entries_sweep(const struct query_command *c, int *left)
{
    json_t *removed = json_array();

    for (size_t i = 0; i < c->here.count; i++) {
        const struct register_found *f = &c->here.found[i];
        int err;

        if (f->lives || !job_register_is_asked(f, c->job))
            continue;
        err = is_dry_run(c) ? 0 : job_register_forget(f);
        if (err) {
            ++*left;
            log_error("%s is left: %s", f->path, strerror(err));
            continue;
        }
        json_array_append_new(removed, text_json(f->path));
        if (!c->json && c->verbose >= 0)
            printable_print("%s %s: the mlaunch of job %s is gone\n", f->path,
                            is_dry_run(c) ? "would be removed" : "has been removed",
                            f->entry.file.job);
    }
    return removed;
}

/* What becomes of the logs here, of jobs that have ended. */
struct log_sweep {
    const struct query_command *c;
    json_t *removed; /* their paths */
    int left;
};

static void log_remove(const struct log_entry *e, void *arg)
{
    struct log_sweep *s = arg;
    int err = is_dry_run(s->c) ? 0 : log_directory_remove(e);

    if (err) {
        s->left++;
        log_error("the log %s is left: %s", e->path, strerror(err));
        return;
    }
    json_array_append_new(s->removed, text_json(e->path));
    if (!s->c->json && s->c->verbose >= 0)
        printable_print("log %s %s\n", e->path,
                        is_dry_run(s->c) ? "would be removed" : "has been removed");
}

/* Those that are too many or too big; with --logs all, or those of the job. */
static void logs_sweep(struct log_sweep *s)
{
    struct log_list l;
    struct fault why;

    s->removed = json_array();
    if (log_directory_list(&l, &why)) {
        log_warn("%s", why.text);
    } else if (!query_command_flag(s->c, "logs")) {
        log_directory_each_surplus(&l, log_remove, s);
    } else {
        for (int i = 0; i < l.count; i++) {
            const struct log_entry *e = &l.entries[i];

            if (!e->is_running &&
                (!*s->c->job || strcmp(e->id, s->c->job) == 0 || strcmp(e->name, s->c->job) == 0))
                log_remove(e, s);
        }
    }
    free(l.entries);
}

/* Prints what was removed and reports what could not be. Returns how many things are left. */
static int outcome_report(const struct query_command *c, int removed, int left)
{
    char text[1024];
    json_t *one;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        const char *host = c->answers[i].host->name;

        json_array_foreach(json_object_get(c->answers[i].said, "removed"), k, one)
        {
            removed++;
            if (!c->json && c->verbose >= 0)
                removed_print(host, one, is_dry_run(c));
        }
        json_array_foreach(json_object_get(c->answers[i].said, "left"), k, one)
        {
            left++;
            leftover_describe(host, one, text, sizeof(text));
            log_error("%s is left: %s", text, object_field_text(one, "text"));
        }
    }
    if (removed + left > 0 || c->json || c->verbose < 0)
        return left;
    if (*c->job)
        printable_print("nothing to remove of job %s: it is alive, or has left nothing\n", c->job);
    else
        puts("nothing is left of dead jobs");
    return left;
}

static int clean_conclude(const struct query_command *c)
{
    int unreached = query_command_report_failed(c), left;
    struct query_command with_logs = *c;
    struct log_sweep logs = {.c = c};
    json_t *entries;

    entries = entries_sweep(c, &logs.left);
    logs_sweep(&logs);
    with_logs.more = json_pack("{so so}", "logs", logs.removed, "launchers", entries);
    if (c->json)
        query_command_print_json(&with_logs);
    left = outcome_report(c, (int)(json_array_size(logs.removed) + json_array_size(entries)),
                          logs.left);
    json_decref(with_logs.more);
    return unreached ? STATUS_OURS : left ? STATUS_LEFT : 0;
}

static json_t *clean_question(struct query_command *c, struct fault *why)
{
    (void)why;
    return json_pack("{ss ss sb}", "what", "clean", "job", c->job, "dry_run", (int)is_dry_run(c));
}

int clean_run(int argc, char **argv)
{
    static const char asks[] = "nothing is asked; --dry-run shows what would be removed";
    static const struct command_hint hints[] = {
        {"-f", asks}, {"--force", asks}, {"-y", asks}, {"--yes", asks}, {NULL, NULL}};
    static const struct option flags[] = {
        {.name = "dry-run", .letter = 'n', .help = "only print what would be ended and removed"},
        {.name = "logs", .help = "also all logs of ended jobs here, or those of JOB"},
        {.name = "json", .help = "the answer as JSON"},
        {0}};
    struct query_command c = {
        .syntax =
            {.name = "clean",
             .usage =
                 "usage: mlaunch clean [OPTIONS] [JOB]\n\n"
                 "Ends and removes on the given hosts what is left of your dead jobs, or of one\n"
                 "with that id or --name: processes, shared memory, control groups, job\n"
                 "directories, half copies of agents; here also logs of detached jobs that are "
                 "too\n"
                 "many or too big, and what a killed mlaunch has left. Live jobs are never\n"
                 "touched.",
             .own = flags,
             .hints = hints,
             .words_most = 1},
        .timeout_ms = TIMEOUT_MS,
        .knows_register = true,
        .lists = {"removed", "left"}};

    return query_command_main(&c, argc, argv, clean_question, clean_conclude);
}
