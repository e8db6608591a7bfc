/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query_command.h"

#include "common/build_id.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/text_json.h"
#include "common/text/utf8.h"
#include "launcher/ask/register_hosts.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/launch_method.h"
#include "launcher/input/plan/plan_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of a job that mean the same in all of these subcommands. */
static const char *const shared[] = {"hosts",          "hostfile",      "ssh-config", "agent",
                                     "agent-launcher", "agent-command", "config",     "profile",
                                     "verbose",        "quiet",         NULL};

/* A user who has not named hosts waits for them no longer. */
enum { GUESTS_MS = 2000 };

/* Takes the JOB among the words. */
static int job_take(struct query_command *c, struct fault *why)
{
    const struct string_list *words = &c->line.words;

    if (c->syntax.words_most == 1 && words->count)
        c->job = words->items[0];
    if (c->needs_job && !*c->job)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch %s: which job? mlaunch ps lists them with their ids",
                         c->syntax.name);
    if (!utf8_is_valid(c->job))
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: a job id must be UTF-8 text",
                         c->syntax.name);
    return 0;
}

/* Spare hosts, which only a configuration can name here, are also asked, but not beside hosts that
 * the command line names. */
static void spares_settle(struct options *o)
{
    if (o->spare_hosts_layer < o->hosts_layer || o->spare_hosts_layer < o->hostfile_layer) {
        free(o->spare_hosts);
        o->spare_hosts = NULL;
    }
}

/* Makes a plan that uses every host, so that the agents are started as those of a job. */
static int hosts_find(struct query_command *c, struct fault *why)
{
    int named, rc;

    spares_settle(c->options);
    c->plan = plan_new(c->options);
    if (!c->plan)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (c->asks_guests)
        rc = register_hosts_find(&c->plan->list, &named, c->options, &c->here, c->job, why);
    else
        rc = plan_hosts_find(&c->plan->list, c->options, environ, why);
    if (rc)
        return rc;
    c->hosts = c->plan->list;
    c->guests = c->asks_guests ? c->hosts->count - named : 0;
    c->plan->where->hosts = calloc((size_t)c->hosts->count, sizeof(*c->plan->where->hosts));
    if (!c->plan->where->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->plan->where->host_count = c->hosts->count;
    for (int i = 0; i < c->hosts->count; i++)
        c->plan->where->hosts[i] = i;
    return launch_method_resolve(c->plan, c->options, environ, why);
}

int query_command_look_here(struct query_command *c, struct fault *why)
{
    if (!c->knows_register)
        return 0;
    job_register_list_clear(&c->here);
    return job_register_list(&c->here, user_directory_base(), why);
}

int query_command_open(struct query_command *c, int argc, char *const *argv, struct fault *why)
{
    int rc;

    c->job = "";
    c->syntax.words = COMMAND_MIXED;
    c->syntax.borrowed[1] = shared;
    rc = command_line_read(&c->line, &c->syntax, NULL, argc, argv, why);
    c->is_done = !rc && c->line.action == OPTIONS_HELP;
    if (c->is_done)
        command_syntax_print_help(&c->syntax);
    if (rc || c->is_done)
        return rc;
    rc = job_take(c, why);
    /* Options of ranks in configuration files and the environment have no effect here. */
    if (!rc)
        rc = options_load_line(&c->options, &c->line, why);
    if (rc)
        return rc;
    if (c->asks_guests)
        c->knows_register = true;
    c->json = query_command_flag(c, "json");
    c->verbose = c->options->verbose;
    log_open("mlaunch", (enum log_level)(LOG_WARN + c->verbose));
    rc = query_command_look_here(c, why);
    return rc ? rc : hosts_find(c, why);
}

void query_command_close(struct query_command *c)
{
    query_free(c->answers, c->hosts ? c->hosts->count : 0);
    job_register_list_clear(&c->here);
    free(c->chosen_job);
    command_line_clear(&c->line);
    plan_destroy(c->plan);
    options_destroy(c->options);
}

int query_command_channel(struct query_channel *out, const struct options *o, const struct plan *p,
                          struct fault *why)
{
    int rc = install_path_find(out->agent, INSTALL_AGENT, why);

    if (!rc)
        out->config = (struct channel_config){.ssh_config = o->ssh_config,
                                              .connect_timeout_ms = o->ssh_connect_timeout_s * 1000,
                                              .agent = o->agent,
                                              .local_agent = out->agent,
                                              .build = build_id,
                                              .command = p->agent_command};
    return rc;
}

int query_command_ask_rounds(struct query_command *c, const struct query_rounds *rounds,
                             struct fault *why)
{
    const struct query_limits limits = {c->timeout_ms, c->guests,
                                        c->guests_ms ? c->guests_ms : GUESTS_MS};
    struct query_channel channel;
    int rc = query_command_channel(&channel, c->options, c->plan, why);

    channel.config.with_copier = c->with_copier;
    if (!rc)
        rc = query_run(&c->answers, c->hosts, &channel.config, rounds, &limits, why);
    return rc;
}

int query_command_choose(struct query_command *c, const char *job, struct fault *why)
{
    int rc = string_copy(&c->chosen_job, job, why);

    if (!rc)
        c->job = c->chosen_job;
    return rc;
}

struct one_question {
    const struct query_command *command;
    json_t *question;
};

static json_t *question_copy(void *arg, int host, int round)
{
    const struct one_question *one = arg;

    (void)host, (void)round;
    return json_deep_copy(one->question);
}

static bool is_list_of_objects(const json_t *list)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (!json_is_object(one))
            return false;
    }
    return json_is_array(list);
}

/* Without this, what another host sends amiss would read as if nothing were there. */
static int answer_accept(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    const struct query_command *c = ((const struct one_question *)arg)->command;

    (void)host, (void)round;
    for (const char *const *name = c->lists; *name; name++) {
        if (!is_list_of_objects(json_object_get(said, *name)))
            return fault_set(why, ML_ERR_REFUSED,
                             "its agent sent a malformed ANSWER: \"%s\" is not a list of objects",
                             *name);
    }
    if (c->word && !json_is_string(json_object_get(said, c->word)))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent a malformed ANSWER: \"%s\" is not a string", c->word);
    return 0;
}

int query_command_ask(struct query_command *c, json_t *question, struct fault *why)
{
    struct one_question one = {c, question};
    const struct query_rounds round = {
        .count = 1, .question = question_copy, .take = answer_accept, .arg = &one};
    int rc;

    query_free(c->answers, c->hosts->count);
    c->answers = NULL;
    rc = query_command_ask_rounds(c, &round, why);
    json_decref(question);
    return rc;
}

int query_command_run(struct query_command *c, int argc, char *const *argv,
                      int (*body)(void *arg, int *status, struct fault *why), void *arg)
{
    struct fault why;
    int status = STATUS_OURS, rc = query_command_open(c, argc, argv, &why);

    if (!rc && c->is_done)
        status = 0;
    else if (!rc)
        rc = body(arg, &status, &why);
    if (rc)
        log_error("%s", why.text);
    query_command_close(c);
    return rc ? STATUS_OURS : status;
}

struct main_parts {
    struct query_command *command;
    json_t *(*question)(struct query_command *c, struct fault *why);
    int (*conclude)(const struct query_command *c);
};

static int main_body(void *arg, int *status, struct fault *why)
{
    const struct main_parts *p = arg;
    int rc = fault_set(why, ML_ERR_MEMORY, "out of memory"); /* the question gives no reason */
    json_t *asked = p->question(p->command, why);

    if (asked)
        rc = query_command_ask(p->command, asked, why);
    if (!rc)
        *status = p->conclude(p->command);
    return rc;
}

int query_command_main(struct query_command *c, int argc, char *const *argv,
                       json_t *(*question)(struct query_command *c, struct fault *why),
                       int (*conclude)(const struct query_command *c))
{
    struct main_parts parts = {c, question, conclude};

    return query_command_run(c, argc, argv, main_body, &parts);
}

const char *query_command_flag(const struct query_command *c, const char *name)
{
    return command_line_value(&c->line, name);
}

void query_command_print_json(const struct query_command *c)
{
    json_t *all = json_array(), *root = json_pack("{so}", "hosts", all);

    for (int i = 0; i < c->hosts->count; i++) {
        const struct query_answer *a = &c->answers[i];
        json_t *one = json_pack("{ss}", "host", a->host->name);

        if (a->said)
            json_object_update(one, a->said);
        else
            json_object_set_new(one, "error", text_json(a->error));
        json_array_append_new(all, one);
    }
    json_object_update(root, c->more);
    text_json_print(root);
}

int query_command_report_failed(const struct query_command *c)
{
    int failed = 0;

    for (int i = 0; i < c->hosts->count; i++) {
        if (c->answers[i].said)
            continue;
        if (i >= c->hosts->count - c->guests) { /* the job is known here all the same */
            log_warn("host %s: %s", c->answers[i].host->name, c->answers[i].error);
            continue;
        }
        failed++;
        log_error("host %s: %s", c->answers[i].host->name, c->answers[i].error);
    }
    return failed;
}
