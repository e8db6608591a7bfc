/* SPDX-License-Identifier: MIT */
/* clean.c: `mlaunch clean`: what dead jobs have left is ended and removed. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/query/query_command.h"

#include <stdio.h>
#include <string.h>

enum { STATUS_LEFT = 1, TIMEOUT_MS = 60000 };

/* "host a: job X: process 4711 (sleep)" */
static void describe(const char *host, json_t *one, char *out, size_t size)
{
    const char *job = query_string(one, "job");
    int at =
        snprintf(out, size, "host %s: %s%s%s", host, *job ? "job " : "", job, *job ? ": " : "");

    if (at < 0 || (size_t)at >= size)
        return;
    if (strcmp(query_string(one, "kind"), "process") == 0)
        snprintf(out + at, size - (size_t)at, "process %lld (%s)",
                 (long long)json_integer_value(json_object_get(one, "pid")),
                 query_string(one, "name"));
    else
        snprintf(out + at, size - (size_t)at, "%s %s", query_string(one, "kind"),
                 query_string(one, "path"));
}

static void tell_removed(const char *host, json_t *one, bool dry_run)
{
    bool is_process = strcmp(query_string(one, "kind"), "process") == 0;
    char text[1024];

    describe(host, one, text, sizeof(text));
    printf("%s%s\n", text,
           dry_run      ? is_process ? " would be ended" : " would be removed"
           : is_process ? " is ended"
                        : " is removed");
}

/* How many things are left. */
static int tell(const struct query_command *c, bool dry_run)
{
    int left = 0, removed = 0;
    char text[1024];
    json_t *one;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        const char *host = c->answers[i].host->name;

        json_array_foreach(json_object_get(c->answers[i].said, "removed"), k, one)
        {
            removed++;
            if (!c->json && c->verbose >= 0)
                tell_removed(host, one, dry_run);
        }
        json_array_foreach(json_object_get(c->answers[i].said, "left"), k, one)
        {
            left++;
            describe(host, one, text, sizeof(text));
            log_error("%s is left: %s", text, query_string(one, "text"));
        }
    }
    if (removed + left > 0 || c->json || c->verbose < 0)
        return left;
    if (*c->job)
        printf("nothing of job %s is to be removed: it lives, or has left nothing\n", c->job);
    else
        puts("nothing is left of dead jobs");
    return left;
}

static int conclude(const struct query_command *c, bool dry_run)
{
    int unreached = query_command_report_failed(c), left;

    if (c->json)
        query_command_print_json(c);
    left = tell(c, dry_run);
    return unreached ? STATUS_OURS : left ? STATUS_LEFT : 0;
}

int clean_run(int argc, char **argv)
{
    bool dry_run = false;
    struct query_flag flags[3] = {{.name = NULL}};
    struct query_command c = {
        .name = "clean",
        .usage = "usage: mlaunch clean [OPTIONS] [JOB]\n\n"
                 "Ends and removes on the given hosts what is left of your dead jobs, or of one of "
                 "them: processes,\nshared memory, control groups, job directories, half copies of "
                 "agents. Live jobs are never touched.",
        .job_word = JOB_WORD_OPTIONAL,
        .flags = flags,
        .timeout_ms = TIMEOUT_MS};
    int status = STATUS_OURS;
    struct fault why;

    flags[0] = (struct query_flag){
        .name = "dry-run", .help = "only tell what would be ended and removed", .value = &dry_run};
    flags[1] = (struct query_flag){.name = "json", .help = "the answer as JSON", .value = &c.json};
    if (query_command_open(&c, argc, argv, &why))
        log_error("%s", why.text);
    else if (c.is_done)
        status = 0;
    else if (query_command_ask(
                 &c,
                 json_pack("{ss ss sb}", "what", "clean", "job", c.job, "dry_run", (int)dry_run),
                 &why))
        log_error("%s", why.text);
    else
        status = conclude(&c, dry_run);
    query_command_close(&c);
    return status;
}
