/* SPDX-License-Identifier: MIT */
/* kill.c: `mlaunch kill JOB` ends a job through its agents. */
#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "launcher/ask/query_command.h"
#include "launcher/run/job/log_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_NOT_THERE = 1, TIMEOUT_MS = 600000 };

/* The ids of the user's live jobs on these hosts: "a, b". */
static void live_jobs_list(const struct query_command *c, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < c->hosts->count; i++) {
        json_t *live = json_object_get(c->answers[i].said, "live"), *id;
        size_t k;

        json_array_foreach(live, k, id)
        {
            const char *text = json_string_value(id);

            if (!text || used >= size || strstr(out, text))
                continue; /* a job has several hosts */
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
        }
    }
}

/* Prints what happened on each host that has the job. *there: some host has it; *failed: it could
 * not be ended on some host. */
static void outcome_report(const struct query_command *c, bool *there, bool *failed)
{
    *there = *failed = false;
    for (int i = 0; i < c->hosts->count; i++) {
        json_t *said = c->answers[i].said;
        const char *found = object_field_text(said, "found"), *name = c->answers[i].host->name;

        if (!*found || strcmp(found, "no") == 0)
            continue;
        *there = true;
        if (strcmp(found, "killed") != 0) {
            *failed = true;
            log_error("job %s on host %s: %s", c->job, name, object_field_text(said, "text"));
        } else if (c->verbose >= 0 && !c->json) {
            printable_print("job %s on host %s has been ended\n", c->job, name);
        }
    }
}

/* Whether it was started from here with --detach, and runs. */
static bool is_detached_here(const char *job)
{
    const struct log_entry *e = NULL;
    struct log_list l = {0};
    bool is_running;

    if (log_directory_list(&l, NULL) == 0)
        e = log_directory_choose(&l, job);
    is_running = e && e->is_running;
    free(l.entries);
    return is_running;
}

static int kill_conclude(const struct query_command *c)
{
    int unreached = query_command_report_failed(c);
    bool there, failed;
    char live[1024];

    if (c->json)
        query_command_print_json(c);
    outcome_report(c, &there, &failed);
    if (!there) {
        live_jobs_list(c, live, sizeof(live));
        log_error("there is no job %s on %s; your live jobs there: %s%s", c->job,
                  c->hosts->count == 1 ? "this host" : "these hosts", live[0] ? live : "none",
                  is_detached_here(c->job)
                      ? " (its mlaunch runs here in the background: name its hosts)"
                      : "");
    }
    if (unreached)
        return STATUS_OURS;
    return there && !failed ? 0 : STATUS_NOT_THERE;
}

static json_t *kill_question(struct query_command *c, struct fault *why)
{
    (void)why;
    return json_pack("{ss ss}", "what", "kill", "job", c->job);
}

int kill_run(int argc, char **argv)
{
    static const char ends[] = "the ranks get SIGTERM, and SIGKILL after the job's --grace";
    static const struct command_hint hints[] = {
        {"-9", ends}, {"-KILL", ends},    {"-15", ends}, {"-TERM", ends},   {"-s", ends},
        {"-f", ends}, {"--signal", ends}, {"-2", ends},  {"--force", ends}, {NULL, NULL}};
    static const struct option flags[] = {{.name = "json", .help = "the answer as JSON"}, {0}};
    struct query_command c = {
        .syntax =
            {.name = "kill",
             .usage =
                 "usage: mlaunch kill [OPTIONS] JOB\n\n"
                 "Ends the job with that id, which mlaunch ps shows, or with that --name, through\n"
                 "its agents on the given hosts; one of the job's hosts is enough. Its mlaunch\n"
                 "says so and ends with status 143.",
             .own = flags,
             .hints = hints,
             .words_most = 1},
        .needs_job = true,
        .timeout_ms = TIMEOUT_MS,
        .word = "found"};

    return query_command_main(&c, argc, argv, kill_question, kill_conclude);
}
