/* SPDX-License-Identifier: MIT */
#include "launcher/options/command_line.h"

#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

struct line_reader {
    struct command_line *out;
    char *const *argv;
    int argc, at; /* argv[at] is next */
    int layer;
};

/* First words that later versions take as subcommands, so that they cannot name a program now. */
static const char *const future_subcommands[] = {"verify", "info", "sync", "metrics", NULL};

static int setting_read(struct line_reader *r, const struct option *option, const char *value,
                        const char *where, struct fault *why)
{
    struct setting s = {option, (char *)value, (char *)where, r->out->program_count, r->layer};

    if (s.app > 0 && option->scope != OPTION_APP)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "%s applies to the whole job: put it before the first program, not after ':'", where);
    if (strcmp(option->name, "help") == 0)
        r->out->action = OPTIONS_HELP;
    else if (strcmp(option->name, "version") == 0)
        r->out->action = OPTIONS_VERSION;
    return setting_add(&r->out->settings, &s, why);
}

/* Takes the next word as the value of the option. */
static int value_read(struct line_reader *r, const struct option *option, const char *where,
                      struct fault *why)
{
    if (r->at == r->argc)
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", where, where,
                         option->argument);
    return setting_read(r, option, r->argv[r->at++], where, why);
}

/* "--name", "--name=value" or "--name" "value". */
static int long_read(struct line_reader *r, const char *word, struct fault *why)
{
    char *where = strndup(word, strcspn(word, "="));
    const char *equals = strchr(word, '=');
    const struct option *option;
    int rc;

    if (!where)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    option = option_table_find(where + 2);
    if (!option)
        rc = option_table_unknown(where + 2, "--", why);
    else if (equals || !option->argument)
        rc = setting_read(r, option, equals ? equals + 1 : NULL, where, why);
    else
        rc = value_read(r, option, where, why);
    free(where);
    return rc;
}

static int letter_refuse(const char *word, char letter, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (word[1] && word[2] && option_table_find(word + 1))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: long options begin with two dashes: -%s",
                         text_show(shown, word), word);
    if (word[2])
        return fault_set(why, ML_ERR_ARGUMENT,
                         "unknown option -%c in '%s'; long options begin with two dashes; see "
                         "mlaunch --help",
                         letter, text_show(shown, word));
    return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; see mlaunch --help",
                     text_show(shown, word));
}

/* "-v", "-vvq", "-n4", "-n" "4". */
static int short_read(struct line_reader *r, const char *word, struct fault *why)
{
    int rc = 0;

    if (strcmp(word, "-np") == 0) /* an option of mpirun; -n with the value p would make no sense */
        return value_read(r, option_table_find("np"), word, why);
    for (const char *c = word + 1; *c && !rc; c++) {
        const struct option *option = option_table_find_letter(*c);
        char where[] = {'-', *c, '\0'};

        if (!option)
            return letter_refuse(word, *c, why);
        if (!option->argument)
            rc = setting_read(r, option, NULL, where, why);
        else if (c[1])
            return setting_read(r, option, c + 1, where, why);
        else
            return value_read(r, option, where, why);
    }
    return rc;
}

static bool is_separator(const char *word)
{
    return strcmp(word, ":") == 0;
}

static int options_read(struct line_reader *r, struct fault *why)
{
    int rc = 0;

    while (!rc && r->at < r->argc && r->out->action == OPTIONS_RUN) {
        const char *word = r->argv[r->at];

        if (word[0] != '-' || !word[1])
            break;
        r->at++;
        if (strcmp(word, "--") == 0)
            break;
        rc = word[1] == '-' ? long_read(r, word, why) : short_read(r, word, why);
    }
    return rc;
}

/* A program is all words up to the next ':' or the end. */
static int program_read(struct line_reader *r, struct fault *why)
{
    struct string_list words = {0};
    int rc = 0;

    for (; !rc && r->at < r->argc && !is_separator(r->argv[r->at]); r->at++)
        rc = string_list_add(&words, r->argv[r->at], why);
    if (!rc && words.count == 0)
        rc = r->out->program_count || r->at < r->argc
                 ? fault_set(why, ML_ERR_ARGUMENT,
                             "program %d is missing; ':' separates two programs",
                             r->out->program_count + 1)
                 : fault_set(why, ML_ERR_ARGUMENT,
                             "no program given: mlaunch [OPTIONS] [--] PROGRAM [ARG...]; see "
                             "mlaunch --help");
    if (!rc && !*words.items[0])
        rc = fault_set(why, ML_ERR_ARGUMENT, "the program's name is empty");
    if (!rc) {
        char ***more =
            realloc(r->out->programs, ((size_t)r->out->program_count + 1) * sizeof(*more));

        if (more)
            r->out->programs = more;
        else
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (!rc)
        rc = string_list_release(&words, &r->out->programs[r->out->program_count], why);
    if (!rc)
        r->out->program_count++;
    string_list_clear(&words);
    return rc;
}

static int subcommand_skip(struct line_reader *r, struct fault *why)
{
    const char *word = r->argc > 1 ? r->argv[1] : "";

    r->at = 1;
    if (strcmp(word, "run") == 0)
        r->at = 2;
    else if (strings_has((char *const *)future_subcommands, word))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch %s is not implemented in this version (to run a program of that "
                         "name: mlaunch -- %s)",
                         word, word);
    return 0;
}

int command_line_read(struct command_line *out, int argc, char *const *argv, int layer,
                      struct fault *why)
{
    struct command_line c = {0};
    struct line_reader r = {&c, argv, argc, 0, layer};
    int rc = subcommand_skip(&r, why);

    do {
        if (!rc)
            rc = options_read(&r, why);
        if (!rc && c.action == OPTIONS_RUN)
            rc = program_read(&r, why);
    } while (!rc && c.action == OPTIONS_RUN && r.at++ < r.argc); /* over the ':' */
    if (rc)
        command_line_clear(&c);
    else
        *out = c;
    return rc;
}

void command_line_clear(struct command_line *c)
{
    for (int i = 0; i < c->program_count; i++)
        strings_free(c->programs[i]);
    free(c->programs);
    setting_clear(&c->settings);
    *c = (struct command_line){0};
}
