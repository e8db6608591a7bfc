/* SPDX-License-Identifier: MIT */
/* kill.c: `mlaunch kill JOB` ends a job through its agents. */
#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "launcher/ask/query_command.h"
#include "launcher/ask/started_here.h"
#include "launcher/commands/launcher_end.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_NOT_THERE = 1, TIMEOUT_MS = 600000 };

/* A job's name is shown with the id that it stands for. */
struct kill {
    struct query_command c;
    bool soft;        /* the job is only asked to stop */
    const char *name; /* the job as the user has named it */
    char shown[JOB_NAME + AUTH_JOB + 8];
    const struct register_found *launcher; /* the job's mlaunch on this machine, or NULL */
};

/* Adds an id to the list: "a, b". */
static void id_add(char *out, size_t size, const char *id)
{
    size_t used = strlen(out);

    if (*id && !strstr(out, id)) /* a job has several hosts */
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", id);
}

/* The ids of the user's live jobs on these hosts, and of those that were started here. */
static void live_jobs_list(const struct query_command *c, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < c->hosts->count; i++) {
        json_t *live = json_object_get(c->answers[i].said, "live"), *id;
        size_t k;

        json_array_foreach(live, k, id)
        {
            if (json_is_string(id))
                id_add(out, size, json_string_value(id));
        }
    }
    for (size_t i = 0; i < c->here.count; i++) {
        if (c->here.found[i].lives)
            id_add(out, size, c->here.found[i].entry.file.job);
    }
}

static void ended_say(const struct kill *k, const char *host)
{
    if (k->c.verbose >= 0 && !k->c.json)
        printable_print("job %s on host %s has been %s\n", k->shown, host,
                        k->soft ? "asked to stop" : "ended");
}

/* Whether a host has said so of the job. */
static bool is_found_as(const struct query_command *c, const char *wanted)
{
    for (int i = 0; i < c->hosts->count; i++) {
        if (strcmp(object_field_text(c->answers[i].said, "found"), wanted) == 0)
            return true;
    }
    return false;
}

/* Prints what happened on each host that has the job. *there: some host has it; *failed: it could
 * not be ended on some host. */
static void outcome_report(const struct kill *k, bool *there, bool *failed)
{
    const struct query_command *c = &k->c;
    const char *wanted = k->soft ? "asked" : "killed";
    bool is_done = is_found_as(c, wanted);

    *there = *failed = false;
    for (int i = 0; i < c->hosts->count; i++) {
        json_t *said = c->answers[i].said;
        const char *found = object_field_text(said, "found"), *name = c->answers[i].host->name;

        if (!*found || strcmp(found, "no") == 0)
            continue;
        *there = true;
        if (strcmp(found, wanted) == 0) {
            ended_say(k, name);
            continue;
        }
        if (is_done && strcmp(found, "elsewhere") == 0)
            continue; /* it shares /tmp with the host that has ended the job */
        *failed = true;
        log_error("job %s on host %s: %s", k->shown, name, object_field_text(said, "text"));
    }
}

static int kill_conclude(const struct kill *k)
{
    const struct query_command *c = &k->c;
    int unreached = query_command_report_failed(c);
    bool there, failed;
    char live[1024];

    if (c->json)
        query_command_print_json(c);
    outcome_report(k, &there, &failed);
    if (!there) {
        live_jobs_list(c, live, sizeof(live));
        log_error("there is no job %s on %s; your live jobs there: %s", k->name,
                  c->hosts->count == 1 ? "this host" : "these hosts", live[0] ? live : "none");
    }
    if (unreached)
        return STATUS_OURS;
    return there && !failed ? 0 : STATUS_NOT_THERE;
}

/* The same of a job that its mlaunch here has ended, or has not. */
static int launcher_conclude(const struct kill *k, const char *failure)
{
    json_t *all = json_array(), *root = json_pack("{so}", "hosts", all), *host;
    size_t i;
    char *text;

    json_array_foreach(k->launcher->entry.hosts, i, host)
    {
        const char *name = object_field_text(host, "name");

        if (!failure)
            ended_say(k, name);
        json_array_append_new(all, json_pack("{ss ss ss}", "host", name, "found",
                                             failure   ? "refused"
                                             : k->soft ? "asked"
                                                       : "killed",
                                             "text",
                                             failure   ? failure
                                             : k->soft ? "it has been asked to stop"
                                                       : "it has been ended"));
    }
    if (failure)
        log_error("job %s: %s", k->shown, failure);
    text = k->c.json ? json_dumps(root, JSON_INDENT(2)) : NULL;
    if (text)
        printable_print("%s\n", text);
    free(text);
    json_decref(root);
    return failure ? STATUS_NOT_THERE : 0;
}

/* The job's mlaunch on this machine, or NULL. */
static const struct register_found *launcher_find(const struct query_command *c)
{
    for (size_t i = 0; i < c->here.count; i++) {
        if (started_here_is_asked(c, &c->here.found[i]))
            return &c->here.found[i];
    }
    return NULL;
}

/* Whether a host's answer is about a live job of the user who asks; another's has another name. */
static bool is_ones_own(const struct host *h, json_t *job)
{
    const char *user = object_field_text(job, "user");
    const struct passwd *self = getpwuid(geteuid());

    return started_here_is_live(job) &&
           (h->user ? strcmp(user, h->user) == 0 : self && strcmp(user, self->pw_name) == 0);
}

/* The ids of the user's live jobs of that name, on these hosts and started here. */
static json_t *ids_collect(const struct query_command *c)
{
    json_t *ids = json_object(), *job;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (is_ones_own(c->answers[i].host, job) && *object_field_text(job, "job"))
                json_object_set_new(ids, object_field_text(job, "job"), json_true());
        }
    }
    for (size_t i = 0; i < c->here.count; i++) {
        if (started_here_is_asked(c, &c->here.found[i]))
            json_object_set_new(ids, c->here.found[i].entry.file.job, json_true());
    }
    return ids;
}

/* Makes the id the job, if one job alone has the name. */
static int name_settle(struct kill *k, json_t *ids, struct fault *why)
{
    char list[512] = "";
    const char *id;
    json_t *value;

    json_object_foreach(ids, id, value)
    {
        id_add(list, sizeof(list), id);
    }
    if (json_object_size(ids) == 0)
        return 0;
    if (json_object_size(ids) > 1)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%zu jobs have the name %s: %s; nothing has been ended, give the id of "
                         "one",
                         json_object_size(ids), k->name, list);
    snprintf(k->shown, sizeof(k->shown), "%s (%s)", k->name, list);
    return query_command_choose(&k->c, list, why);
}

/* A name may be that of several jobs, on several hosts. */
static int name_resolve(struct kill *k, struct fault *why)
{
    json_t *ids;
    int rc;

    if (!job_file_is_name(k->name))
        return 0;
    k->c.word = NULL;
    k->c.lists[0] = "jobs";
    rc = query_command_ask(
        &k->c, json_pack("{ss ss sb}", "what", "list", "job", k->name, "stacks", 0), why);
    k->c.word = "found";
    k->c.lists[0] = NULL;
    if (rc)
        return rc;
    ids = ids_collect(&k->c);
    rc = name_settle(k, ids, why);
    json_decref(ids);
    return rc;
}

static int kill_carry_out(void *arg, int *status, struct fault *why)
{
    struct kill *k = arg;
    int rc;

    k->name = k->c.job;
    k->soft = query_command_flag(&k->c, "soft");
    snprintf(k->shown, sizeof(k->shown), "%s", k->name);
    rc = name_resolve(k, why);
    if (rc == ML_ERR_ARGUMENT) {
        log_error("%s", why->text);
        *status = STATUS_NOT_THERE;
        return 0;
    }
    if (rc)
        return rc;
    k->launcher = launcher_find(&k->c);
    if (k->launcher) {
        rc = k->soft ? launcher_ask(k->launcher, why) : launcher_end(k->launcher, why);
        *status = launcher_conclude(k, rc ? why->text : NULL);
        return 0;
    }
    rc = query_command_ask(
        &k->c, json_pack("{ss ss sb}", "what", "kill", "job", k->c.job, "soft", (int)k->soft), why);
    if (!rc)
        *status = kill_conclude(k);
    return rc;
}

int kill_run(int argc, char **argv)
{
    static const char ends[] = "the ranks get SIGTERM, and SIGKILL after the job's --grace";
    static const struct command_hint hints[] = {
        {"-9", ends}, {"-KILL", ends},    {"-15", ends}, {"-TERM", ends},   {"-s", ends},
        {"-f", ends}, {"--signal", ends}, {"-2", ends},  {"--force", ends}, {NULL, NULL}};
    static const struct option flags[] = {
        {.name = "soft", .help = "only ask the ranks to stop: ml_should_stop() becomes true"},
        {.name = "json", .help = "the answer as JSON"},
        {0}};
    static const char usage[] =
        "usage: mlaunch kill [OPTIONS] JOB\n\n"
        "Ends the job with that id, which mlaunch ps shows, or with that --name: through\n"
        "its mlaunch, if that was started on this machine, else through its agents on\n"
        "the given hosts; one of the job's hosts is enough. Its mlaunch says so and ends\n"
        "with status 143. With --soft nobody is ended: the ranks that call\n"
        "ml_should_stop() are told, and leave their loop in the same step.";
    struct kill k = {
        .c = {.syntax =
                  {.name = "kill", .usage = usage, .own = flags, .hints = hints, .words_most = 1},
              .needs_job = true,
              .knows_register = true,
              .timeout_ms = TIMEOUT_MS,
              .word = "found"}};

    return query_command_run(&k.c, argc, argv, kill_carry_out, &k);
}
