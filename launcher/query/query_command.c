/* SPDX-License-Identifier: MIT */
#include "launcher/query/query_command.h"

#include "common/build_id.h"
#include "common/log.h"
#include "launcher/options/option_help.h"
#include "launcher/options/option_table.h"
#include "launcher/options/options_load.h"
#include "launcher/plan/agent_way.h"
#include "launcher/plan/plan_hosts.h"
#include "launcher/process/install_path.h"
#include "launcher/text/nearest.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of run that mean the same here. */
static const char *const shared[] = {"hosts",          "hostfile",      "ssh-config", "agent",
                                     "agent-launcher", "agent-command", "config",     "profile",
                                     "verbose",        "quiet",         "help",       NULL};

struct reader {
    struct query_command *c;
    char *const *argv;
    int argc, at;
    struct string_list passed; /* what options.h shall read */
};

static const struct query_flag *flag_find(const struct query_command *c, const char *name,
                                          char letter)
{
    for (const struct query_flag *f = c->flags; f->name; f++) {
        if (name ? strcmp(f->name, name) == 0 : f->letter == letter)
            return f;
    }
    return NULL;
}

/* "-o FILE", "-oFILE", "--output FILE", "--output=FILE". */
static int take_text(struct reader *r, const struct query_flag *flag, struct fault *why)
{
    const char *word = r->argv[r->at++], *value = word + 2;

    if (word[1] == '-')
        value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
    if (!*value && r->at < r->argc && !strchr(word, '='))
        value = r->argv[r->at++];
    if (!*value)
        return fault_set(why, ML_ERR_ARGUMENT, "%s lacks its value: %s %s", word, word,
                         flag->argument);
    *flag->text = value;
    return 0;
}

static int unknown(const struct query_command *c, const char *word, struct fault *why)
{
    struct nearest n = {.typed = word + strspn(word, "-")};
    char shown[TEXT_SHOWN];

    for (const char *const *name = shared; *name; name++)
        nearest_offer(&n, *name);
    for (const struct query_flag *f = c->flags; f->name; f++)
        nearest_offer(&n, f->name);
    return fault_set(why, ML_ERR_ARGUMENT,
                     "mlaunch %s has no option %s; the nearest that it has: --%s", c->name,
                     text_show(shown, word), n.best);
}

/* An option of run, with its value if it is a word of its own. */
static int pass_on(struct reader *r, const struct option *option, bool has_value, struct fault *why)
{
    const char *word = r->argv[r->at++];
    int rc;

    if (strcmp(option->name, "help") == 0) {
        r->c->is_done = true;
        return 0;
    }
    rc = string_list_add(&r->passed, word, why);
    if (rc || !option->argument || has_value)
        return rc;
    if (r->at == r->argc)
        return fault_set(why, ML_ERR_ARGUMENT, "%s lacks its value: %s %s", word, word,
                         option->argument);
    return string_list_add(&r->passed, r->argv[r->at++], why);
}

static int read_option(struct reader *r, struct fault *why)
{
    const char *word = r->argv[r->at];
    bool is_long = word[1] == '-';
    char name[64];
    const struct query_flag *flag;
    const struct option *option;

    snprintf(name, sizeof(name), "%.*s", is_long ? (int)strcspn(word + 2, "=") : 1,
             word + 1 + is_long);
    flag = flag_find(r->c, is_long ? name : NULL, name[0]);
    if (flag && flag->argument)
        return take_text(r, flag, why);
    if (flag && !strchr(word, '=')) {
        *flag->value = true;
        r->at++;
        return 0;
    }
    option = is_long ? option_find(name) : option_find_letter(name[0]);
    if (flag || !option || !strings_has((char *const *)shared, option->name))
        return unknown(r->c, word, why);
    return pass_on(r, option, is_long ? strchr(word, '=') != NULL : word[2] != '\0', why);
}

static int read_word(struct reader *r, struct fault *why)
{
    const char *word = r->argv[r->at++];
    char shown[TEXT_SHOWN];

    if (r->c->job_word == JOB_WORD_NONE || *r->c->job || !*word)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: '%s' is one word too many", r->c->name,
                         text_show(shown, word));
    if (!text_is_utf8(word))
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: that is no job's id", r->c->name);
    r->c->job = word;
    return 0;
}

static int read_words(struct reader *r, struct fault *why)
{
    int rc = 0;

    while (!rc && r->at < r->argc && !r->c->is_done) {
        const char *word = r->argv[r->at];

        rc = word[0] == '-' && word[1] ? read_option(r, why) : read_word(r, why);
    }
    if (!rc && !r->c->is_done && r->c->job_word == JOB_WORD_NEEDED && !*r->c->job)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "mlaunch %s: which job? mlaunch ps lists them with their ids", r->c->name);
    return rc;
}

/* Configuration files and environment count here too; what they say of ranks doesn't matter. The
 * program's name stands for the one that a job would have. */
static int options_read(struct reader *r, struct fault *why)
{
    struct string_list words = {0};
    int rc = string_list_add(&words, "mlaunch", why);

    if (!rc && r->passed.items)
        rc = string_list_add_all(&words, r->passed.items, why);
    if (!rc)
        rc = string_list_add(&words, "--", why);
    if (!rc)
        rc = string_list_add(&words, r->c->name, why);
    if (!rc)
        rc = options_load(&r->c->options, (int)words.count, words.items, why);
    string_list_clear(&words);
    return rc;
}

static void print_help(const struct query_command *c)
{
    puts(c->usage);
    puts("");
    for (const struct query_flag *f = c->flags; f->name; f++)
        option_print(&(struct option){
            .name = f->name, .letter = f->letter, .argument = f->argument, .help = f->help});
    for (const char *const *name = shared; *name; name++)
        option_print(option_find(*name));
}

/* A plan in which every host is used, so that the agents are started as a job's are. */
static int hosts_find(struct query_command *c, struct fault *why)
{
    int rc;

    c->plan = calloc(1, sizeof(*c->plan));
    if (!c->plan)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = plan_hosts_find(&c->plan->list, c->options, environ, why);
    if (rc)
        return rc;
    c->hosts = c->plan->list;
    c->plan->hosts = calloc((size_t)c->hosts->count, sizeof(*c->plan->hosts));
    if (!c->plan->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->plan->host_count = c->hosts->count;
    for (int i = 0; i < c->hosts->count; i++)
        c->plan->hosts[i] = i;
    return agent_way_settle(c->plan, c->options, environ, why);
}

int query_command_open(struct query_command *c, int argc, char *const *argv, struct fault *why)
{
    struct reader r = {.c = c, .argv = argv, .argc = argc, .at = 1};
    int rc;

    c->job = "";
    rc = read_words(&r, why);
    if (!rc && c->is_done)
        print_help(c);
    else if (!rc)
        rc = options_read(&r, why);
    string_list_clear(&r.passed);
    if (rc || c->is_done)
        return rc;
    c->verbose = c->options->verbose;
    log_open("mlaunch", (enum log_level)(LOG_WARN + c->verbose));
    return hosts_find(c, why);
}

void query_command_close(struct query_command *c)
{
    query_free(c->answers, c->hosts ? c->hosts->count : 0);
    plan_destroy(c->plan);
    options_destroy(c->options);
}

/* Other hosts' texts go to a terminal. */
static void make_plain(json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, inner)
        {
            make_plain(inner);
        }
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner)
        {
            make_plain(inner);
        }
    } else if (json_is_string(value)) {
        char *text = strdup(json_string_value(value));

        for (char *at = text; at && *at; at++) {
            if ((unsigned char)*at < ' ' || *at == 127)
                *at = '?';
        }
        if (text && strcmp(text, json_string_value(value)) != 0)
            json_string_set_nocheck(value, text);
        free(text);
    }
}

int query_command_ask_rounds(struct query_command *c, const struct query_rounds *rounds,
                             struct fault *why)
{
    char agent[PATH_MAX];
    struct channel_config channel = {.ssh_config = c->options->ssh_config,
                                     .connect_timeout_ms = c->options->ssh_connect_timeout_s * 1000,
                                     .agent = c->options->agent,
                                     .local_agent = agent,
                                     .build = build_id,
                                     .command = c->plan->agent_command};
    int rc = install_path_find(agent, INSTALL_AGENT, why);

    if (!rc)
        rc = query_run(&c->answers, c->hosts, &channel, rounds, c->timeout_ms, why);
    for (int i = 0; !rc && i < c->hosts->count; i++)
        make_plain(c->answers[i].said);
    return rc;
}

static json_t *the_question(void *arg, int host, int round)
{
    (void)host, (void)round;
    return json_deep_copy(arg);
}

static int take_any(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    (void)arg, (void)host, (void)round, (void)said, (void)why;
    return 0;
}

int query_command_ask(struct query_command *c, json_t *question, struct fault *why)
{
    const struct query_rounds one = {1, the_question, take_any, question};
    int rc = query_command_ask_rounds(c, &one, why);

    json_decref(question);
    return rc;
}

void query_command_print_json(const struct query_command *c)
{
    json_t *all = json_array(), *root = json_pack("{so}", "hosts", all);
    char *text;

    for (int i = 0; i < c->hosts->count; i++) {
        const struct query_answer *a = &c->answers[i];
        json_t *one = json_pack("{ss}", "host", a->host->name);

        if (a->said)
            json_object_update(one, a->said);
        else
            json_object_set_new(one, "error", json_string(a->error));
        json_array_append_new(all, one);
    }
    text = json_dumps(root, JSON_INDENT(2));
    puts(text ? text : "{}");
    free(text);
    json_decref(root);
}

int query_command_report_failed(const struct query_command *c)
{
    int failed = 0;

    for (int i = 0; i < c->hosts->count; i++) {
        if (c->answers[i].said)
            continue;
        failed++;
        log_error("host %s: %s", c->answers[i].host->name, c->answers[i].error);
    }
    return failed;
}

const char *query_string(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}
