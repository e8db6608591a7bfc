/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query_command.h"

#include "common/build_id.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "common/text/utf8.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/nearest.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/foreign.h"
#include "launcher/input/options/option_help.h"
#include "launcher/input/options/option_table.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/launch_method.h"
#include "launcher/input/plan/plan_hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of a job that mean the same in all of these subcommands. */
static const char *const shared[] = {"hosts",          "hostfile",      "ssh-config", "agent",
                                     "agent-launcher", "agent-command", "config",     "profile",
                                     "verbose",        "quiet",         "help",       NULL};

static bool is_shared(const struct query_command *c, const char *name)
{
    return strings_has((char *const *)shared, name) ||
           (c->job_options && strings_has((char *const *)c->job_options, name));
}

struct command_reader {
    struct query_command *c;
    char *const *argv;
    int argc, at;
    struct string_list passed; /* the options for options_load() */
};

static struct query_flag *flag_find(const struct query_command *c, const char *name, char letter)
{
    for (struct query_flag *f = c->flags; f->name; f++) {
        if (name ? strcmp(f->name, name) == 0 : f->letter == letter)
            return f;
    }
    return NULL;
}

/* "-o FILE", "-oFILE", "--output FILE", "--output=FILE". */
static int flag_read_text(struct command_reader *r, struct query_flag *flag, struct fault *why)
{
    const char *word = r->argv[r->at++], *value = word + 2;

    if (word[1] == '-')
        value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
    if (!*value && r->at < r->argc && !strchr(word, '=') &&
        (!flag->otherwise || isdigit((unsigned char)r->argv[r->at][0])))
        value = r->argv[r->at++];
    if (!*value && flag->otherwise)
        value = flag->otherwise;
    if (!*value)
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", word, word,
                         flag->argument);
    flag->value = value;
    return flag->values ? string_list_add(flag->values, value, why) : 0;
}

/* What the option is called here, where it is one of another program or of a job; or NULL. */
static const char *option_here(const struct query_command *c, const char *name)
{
    const struct foreign *f = foreign_find(name, strlen(name));

    return f && f->option && is_shared(c, f->option) ? f->option : NULL;
}

static int option_refuse(const struct query_command *c, const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN], name[TEXT_SHOWN];
    struct nearest n = {.typed = name};
    const struct option *of_job;
    const char *near;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    for (const struct query_hint *h = c->hints; h && h->word; h++)
        if (strcmp(h->word, word) == 0)
            return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s has no %s: %s", c->name, word,
                             h->text);
    if (option_here(c, name))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch %s: unknown option %s; here it is called --%s", c->name,
                         text_show(shown, word), option_here(c, name));
    of_job = word[1] == '-' ? option_table_find(name) : option_table_find_letter(name[0]);
    if (of_job)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch %s: %s is an option of a job, and has no meaning here; mlaunch "
                         "%s --help lists all",
                         c->name, text_show(shown, word), c->name);
    for (const char *const *known = shared; *known; known++)
        nearest_offer(&n, *known);
    for (const char *const *known = c->job_options; known && *known; known++)
        nearest_offer(&n, *known);
    for (const struct query_flag *f = c->flags; f->name; f++)
        nearest_offer(&n, f->name);
    near = strlen(n.typed) > 1 ? nearest_slip(&n) : NULL;
    text_show(shown, word);
    if (near)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: unknown option %s; did you mean --%s?",
                         c->name, shown, near);
    return fault_set(why, ML_ERR_ARGUMENT,
                     "mlaunch %s: unknown option %s; mlaunch %s --help lists all", c->name, shown,
                     c->name);
}

/* An option of a job, together with the next word if that is its value. */
static int option_pass(struct command_reader *r, const struct option *option, bool has_value,
                       struct fault *why)
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
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", word, word,
                         option->argument);
    return string_list_add(&r->passed, r->argv[r->at++], why);
}

static int option_read(struct command_reader *r, struct fault *why)
{
    const char *word = r->argv[r->at];
    bool is_long = word[1] == '-';
    char name[64];
    struct query_flag *flag;
    const struct option *option;

    snprintf(name, sizeof(name), "%.*s", is_long ? (int)strcspn(word + 2, "=") : 1,
             word + 1 + is_long);
    flag = flag_find(r->c, is_long ? name : NULL, name[0]);
    if (flag && flag->argument)
        return flag_read_text(r, flag, why);
    if (flag && !strchr(word, '=')) {
        flag->value = "";
        r->at++;
        return 0;
    }
    option = is_long ? option_table_find(name) : option_table_find_letter(name[0]);
    if (flag || !option || !is_shared(r->c, option->name))
        return option_refuse(r->c, word, why);
    return option_pass(r, option, is_long ? strchr(word, '=') != NULL : word[2] != '\0', why);
}

static int job_word_read(struct command_reader *r, struct fault *why)
{
    const char *word = r->argv[r->at++];
    char shown[TEXT_SHOWN];

    if (r->c->words)
        return string_list_add(r->c->words, word, why);
    if (r->c->job_word == JOB_WORD_NONE || *r->c->job || !*word)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: unexpected argument '%s'", r->c->name,
                         text_show(shown, word));
    if (!utf8_is_valid(word))
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: a job id must be UTF-8 text",
                         r->c->name);
    r->c->job = word;
    return 0;
}

static int args_parse(struct command_reader *r, struct fault *why)
{
    bool is_words = false;
    int rc = 0;

    while (!rc && r->at < r->argc && !r->c->is_done) {
        const char *word = r->argv[r->at];

        if (r->c->words && !is_words && strcmp(word, "--") == 0) { /* only words follow */
            is_words = true;
            r->at++;
            continue;
        }
        rc = word[0] == '-' && word[1] && !is_words ? option_read(r, why) : job_word_read(r, why);
    }
    if (!rc && !r->c->is_done && r->c->job_word == JOB_WORD_NEEDED && !*r->c->job)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "mlaunch %s: which job? mlaunch ps lists them with their ids", r->c->name);
    return rc;
}

/* Reads configuration files and the environment, as for a job. Options of ranks in them have no
 * effect here. A command line needs a program, which the subcommand's name stands in for. */
static int options_read(struct command_reader *r, struct fault *why)
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

static void help_print(const struct query_command *c)
{
    puts(c->usage);
    puts("");
    for (const struct query_flag *f = c->flags; f->name; f++)
        option_help_print(&(struct option){
            .name = f->name, .letter = f->letter, .argument = f->argument, .help = f->help});
    for (const char *const *name = c->job_options; name && *name; name++)
        option_help_print(option_table_find(*name));
    for (const char *const *name = shared; *name; name++)
        option_help_print(option_table_find(*name));
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
    int rc;

    spares_settle(c->options);

    c->plan = calloc(1, sizeof(*c->plan));
    if (!c->plan)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->plan->options = c->options;
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
    return launch_method_resolve(c->plan, c->options, environ, why);
}

int query_command_open(struct query_command *c, int argc, char *const *argv, struct fault *why)
{
    struct command_reader r = {.c = c, .argv = argv, .argc = argc, .at = 1};
    int rc;

    c->job = "";
    rc = args_parse(&r, why);
    if (!rc && c->is_done)
        help_print(c);
    else if (!rc)
        rc = options_read(&r, why);
    if (!rc && !c->is_done)
        rc = string_list_release(&r.passed, &c->passed, why);
    string_list_clear(&r.passed);
    if (rc || c->is_done)
        return rc;
    c->json = query_command_flag(c, "json");
    c->verbose = c->options->verbose;
    log_open("mlaunch", (enum log_level)(LOG_WARN + c->verbose));
    return hosts_find(c, why);
}

void query_command_close(struct query_command *c)
{
    query_free(c->answers, c->hosts ? c->hosts->count : 0);
    free(c->chosen_job);
    strings_free(c->passed);
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
    struct query_channel channel;
    int rc = query_command_channel(&channel, c->options, c->plan, why);

    channel.config.with_copier = c->with_copier;
    if (!rc)
        rc = query_run(&c->answers, c->hosts, &channel.config, rounds, c->timeout_ms, why);
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

int query_command_main(struct query_command *c, int argc, char *const *argv,
                       json_t *(*question)(struct query_command *c, struct fault *why),
                       int (*conclude)(const struct query_command *c))
{
    int status = STATUS_OURS, rc;
    json_t *asked = NULL;
    struct fault why;

    rc = query_command_open(c, argc, argv, &why);
    if (!rc && c->is_done) {
        status = 0;
    } else if (!rc) {
        rc = fault_set(&why, ML_ERR_MEMORY, "out of memory"); /* the question gives no reason */
        asked = question(c, &why);
        if (asked)
            rc = query_command_ask(c, asked, &why);
        if (!rc)
            status = conclude(c);
    }
    if (rc)
        log_error("%s", why.text);
    query_command_close(c);
    return status;
}

const char *query_command_flag(const struct query_command *c, const char *name)
{
    const struct query_flag *flag = flag_find(c, name, 0);

    return flag ? flag->value : NULL;
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
            json_object_set_new(one, "error", text_json(a->error));
        json_array_append_new(all, one);
    }
    json_object_update(root, c->more);
    /* Mended again: another host has also chosen the keys. */
    text = json_dumps(root, JSON_INDENT(2));
    printable_print("%s\n", text ? text : "{}");
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
