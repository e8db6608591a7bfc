/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/command_line.h"

#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line_reader {
    struct command_line *out;
    char *const *argv;
    int argc, at; /* argv[at] is next */
    int layer;
};

/* What a word with dashes stands for: one of our options, or one of another program's; with what
 * follows its '='. */
struct typed {
    const struct option *option;
    const struct foreign *foreign;
    const char *value; /* or NULL */
};

/* A name of one byte is a letter. */
static void typed_find(struct typed *t, const char *name, size_t length)
{
    char ours[64];

    snprintf(ours, sizeof(ours), "%.*s", length < sizeof(ours) ? (int)length : 0, name);
    t->option = length > 1 ? option_table_find(ours) : option_table_find_letter(*name);
    t->foreign = foreign_find(name, length);
    t->value = NULL;
}

/* "--name", "--name=value", and with one dash as mpirun has them: "-name". False for letters, and
 * for what is not known with one dash. */
static bool typed_is_long(struct typed *t, const char *word)
{
    bool has_two = word[1] == '-';
    const char *name = word + 1 + has_two;
    size_t length = strcspn(name, "=");

    typed_find(t, name, length);
    if (length < 2 && has_two) /* "--n" is mpirun's; no letter of ours has two dashes */
        t->option = NULL;
    /* Hydra's "-env NAME VALUE" is not ours. */
    if (t->option && t->foreign) {
        if (has_two)
            t->foreign = NULL;
        else
            t->option = NULL;
    }
    if (name[length])
        t->value = name + length + 1;
    return has_two || (length > 1 && (t->option || t->foreign));
}

/* The letter at `c`, and what follows it as its value: "-n4", "-n=4". */
static void typed_find_letter(struct typed *t, const char *c)
{
    typed_find(t, c, 1);
    if (t->option)
        t->foreign = NULL;
    if (c[1])
        t->value = c[1] == '=' ? c + 2 : c + 1;
}

/* True if the letter's value is what follows, and no further letters. */
static bool typed_takes_rest(const struct typed *t)
{
    return t->option ? t->option->argument != NULL
                     : t->foreign && (t->foreign->hint || t->foreign->argument != FOREIGN_NONE);
}

static int setting_put(struct line_reader *r, const struct option *option, const char *value,
                       const char *where, int app, struct fault *why)
{
    struct setting s = {option, (char *)value, (char *)where, app, r->layer};

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

/* Takes the next word. `argument`: its name for the message. */
static int word_take(const char **out, struct line_reader *r, const char *where,
                     const char *argument, struct fault *why)
{
    if (r->at == r->argc)
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", where, where, argument);
    *out = r->argv[r->at++];
    return 0;
}

static int own_read(struct line_reader *r, const struct option *option, const char *value,
                    const char *where, struct fault *why)
{
    int rc = value || !option->argument ? 0 : word_take(&value, r, where, option->argument, why);

    return rc ? rc : setting_put(r, option, value, where, r->out->program_count, why);
}

/* "NAME" and the next word become "NAME=VALUE". */
static int pair_read(struct line_reader *r, const struct option *option, const char *name,
                     const char *where, int app, struct fault *why)
{
    const char *value = NULL;
    char *both = NULL;
    int rc;

    if (strchr(name, '='))
        return setting_put(r, option, name, where, app, why);
    rc = word_take(&value, r, where, "NAME VALUE", why);
    if (!rc)
        rc = string_format(&both, why, "%s=%s", name, value);
    if (!rc)
        rc = setting_put(r, option, both, where, app, why);
    free(both);
    return rc;
}

static int list_read(struct line_reader *r, const struct option *option, const char *list,
                     const char *where, int app, struct fault *why)
{
    char *copy = NULL, *rest, *one;
    int rc = string_copy(&copy, list, why);

    rest = copy;
    while (!rc && (one = strsep(&rest, ",")))
        if (*one)
            rc = setting_put(r, option, one, where, app, why);
    free(copy);
    return rc;
}

static int foreign_read(struct line_reader *r, const struct foreign *f, const char *value,
                        const char *where, struct fault *why)
{
    const struct option *option = f->option ? option_table_find(f->option) : NULL;
    int app = f->is_for_all ? -1 : r->out->program_count, rc = 0;
    char shown[TEXT_SHOWN];

    if (f->hint)
        return foreign_refuse(f, where, why);
    if (value && f->argument == FOREIGN_NONE)
        return fault_set(why, ML_ERR_ARGUMENT, "%s takes no value, so not '%s'", where,
                         text_show(shown, value));
    if (!value && f->argument != FOREIGN_NONE && f->argument != FOREIGN_MAYBE)
        rc = word_take(&value, r, where, option ? option->argument : "VALUE", why);
    if (rc || !option)
        return rc;
    if (f->argument == FOREIGN_PAIR)
        return pair_read(r, option, value, where, app, why);
    if (f->argument == FOREIGN_LIST)
        return list_read(r, option, value, where, app, why);
    return setting_put(r, option, f->value ? f->value : value, where, app, why);
}

static int long_read(struct line_reader *r, const struct typed *t, const char *word,
                     struct fault *why)
{
    char *where = strndup(word, strcspn(word, "="));
    int rc;

    if (!where)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (t->option)
        rc = own_read(r, t->option, t->value, where, why);
    else if (t->foreign)
        rc = foreign_read(r, t->foreign, t->value, where, why);
    else
        rc = option_table_unknown(where + 2, "--", why);
    free(where);
    return rc;
}

static int letter_refuse(const char *word, char letter, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (strlen(word) > 4) /* more likely a word than letters */
        return option_table_unknown(word + 1, "-", why);
    if (word[2])
        return fault_set(why, ML_ERR_ARGUMENT, "unknown option -%c in '%s'; see mlaunch --help",
                         letter, text_show(shown, word));
    return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; see mlaunch --help",
                     text_show(shown, word));
}

/* "-v", "-vvq", "-n4", "-n=4", "-n" "4". */
static int short_read(struct line_reader *r, const char *word, struct fault *why)
{
    int rc = 0;

    for (const char *c = word + 1; *c && !rc; c++) {
        char where[] = {'-', *c, '\0'};
        struct typed t;
        const char *value;

        typed_find_letter(&t, c);
        value = typed_takes_rest(&t) ? t.value : NULL;
        if (t.option)
            rc = own_read(r, t.option, value, where, why);
        else if (t.foreign && (!t.foreign->hint || c == word + 1))
            rc = foreign_read(r, t.foreign, value, where, why);
        else
            return letter_refuse(word, *c, why);
        if (typed_takes_rest(&t))
            break;
    }
    return rc;
}

/* How many words behind it belong to the option, if its value is not in the same word. */
static int typed_arguments(const struct typed *t, const char *next)
{
    if (t->option)
        return t->option->argument && !t->value;
    if (!t->foreign)
        return -1;
    switch (t->foreign->argument) {
    case FOREIGN_ONE:
    case FOREIGN_LIST:
        return !t->value;
    case FOREIGN_PAIR:
        if (t->value)
            return !strchr(t->value, '=');
        return next && strchr(next, '=') ? 1 : 2;
    default:
        return 0;
    }
}

int command_line_arguments(const char *word, const char *next)
{
    struct typed t;

    if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
        return 0;
    if (typed_is_long(&t, word))
        return typed_arguments(&t, next);
    for (const char *c = word + 1; *c; c++) {
        typed_find_letter(&t, c);
        if (typed_takes_rest(&t) || (!t.option && !t.foreign))
            return typed_arguments(&t, next);
    }
    return 0;
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
        struct typed t;

        if (word[0] != '-' || !word[1])
            break;
        r->at++;
        if (strcmp(word, "--") == 0)
            break;
        rc = typed_is_long(&t, word) ? long_read(r, &t, word, why) : short_read(r, word, why);
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

int command_line_read(struct command_line *out, int argc, char *const *argv, int layer,
                      struct fault *why)
{
    struct command_line c = {0};
    bool is_run = argc > 1 && strcmp(argv[1], "run") == 0; /* which may be left out */
    struct line_reader r = {&c, argv, argc, is_run ? 2 : 1, layer};
    int rc = 0;

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
