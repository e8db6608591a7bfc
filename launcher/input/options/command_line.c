/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/command_line.h"

#include "launcher/base/text/text_file.h"
#include "launcher/input/options/foreign.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line_reader {
    struct command_line *out;
    const struct command_syntax *syntax;
    void *to;
    char *const *argv;
    int argc, at; /* argv[at] is next */
};

/* What a word with dashes stands for: one of our options, or one of another program's; with what
 * follows its '='. */
struct typed {
    const struct option *option;
    const struct foreign *foreign;
    bool is_own;       /* `option` is the subcommand's, not run's */
    const char *value; /* or NULL */
};

static const struct option *table_find(const struct option *table, const char *name)
{
    return name[0] && name[1] ? option_table_search(table, name)
                              : option_table_search_letter(table, name[0]);
}

/* A name of one byte is a letter. */
static void typed_find(struct typed *t, const struct command_syntax *s, const char *name,
                       size_t length)
{
    char ours[64];

    snprintf(ours, sizeof(ours), "%.*s", length < sizeof(ours) ? (int)length : 0, name);
    *t = (struct typed){.option = s->own ? table_find(s->own, ours) : NULL};
    t->is_own = t->option;
    if (t->is_own)
        return;
    t->option = table_find(option_table, ours);
    t->foreign = foreign_find(name, length);
}

/* True if what was typed is known here. */
static bool typed_is_known(const struct typed *t, const struct command_syntax *s)
{
    if (t->option)
        return t->is_own || command_syntax_borrows(s, t->option->name);
    return t->foreign && s->borrows_all &&
           (!t->foreign->option || command_syntax_borrows(s, t->foreign->option));
}

/* "--name", "--name=value", and with one dash as mpirun has them: "-name". False for letters, and
 * for what is not known with one dash. */
static bool typed_is_long(struct typed *t, const struct command_syntax *s, const char *word)
{
    bool has_two = word[1] == '-';
    const char *name = word + 1 + has_two;
    size_t length = strcspn(name, "=");

    typed_find(t, s, name, length);
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
static void typed_find_letter(struct typed *t, const struct command_syntax *s, const char *c)
{
    typed_find(t, s, c, 1);
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
    struct setting s = {option, (char *)value, (char *)where, app, 0};

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

/* False: the next word does not belong to an option whose value may be left out. */
static bool is_value(const struct option *option, const char *next)
{
    if (option->takes_word)
        return next[0] != '-';
    if (!option->choices)
        return isdigit((unsigned char)next[0]);
    for (const struct named_value *c = option->choices; c->word; c++)
        if (strcmp(c->word, next) == 0)
            return true;
    return false;
}

static int ours_read(struct line_reader *r, const struct typed *t, const char *where,
                     struct fault *why)
{
    const struct option *option = t->option;
    const char *value = t->value;
    char shown[TEXT_SHOWN];
    int rc = 0;

    if (!value && option->otherwise)
        value = r->at < r->argc && is_value(option, r->argv[r->at]) ? r->argv[r->at++]
                                                                    : option->otherwise;
    else if (!value && option->argument)
        rc = word_take(&value, r, where, option->argument, why);
    if (rc || !t->is_own)
        return rc ? rc : setting_put(r, option, value, where, r->out->program_count, why);
    if (value && !option->argument)
        return fault_set(why, ML_ERR_ARGUMENT, "%s takes no value, so not '%s'", where,
                         text_show(shown, value));
    if (value && !*value)
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", where, where,
                         option->argument);
    if (!option->set)
        return setting_add(&r->out->settings,
                           &(struct setting){option, (char *)value, (char *)where, 0, 0}, why);
    return option->set(r->to, option, value, why) ? fault_wrap(why, "%s", where) : 0;
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

/* An option of another program that may ask for one host. */
static int one_host_read(struct line_reader *r, const struct foreign *f, const char *value,
                         const char *where, struct fault *why)
{
    int rc = value ? 0 : word_take(&value, r, where, "VALUE", why);

    if (rc)
        return rc;
    if (!foreign_takes(f, value))
        return foreign_refuse(f, where, why);
    return setting_put(r, &option_table_one_host, NULL, where, r->out->program_count, why);
}

static int foreign_read(struct line_reader *r, const struct foreign *f, const char *value,
                        const char *where, struct fault *why)
{
    const struct option *option = f->option ? option_table_find(f->option) : NULL;
    int app = f->is_for_all ? -1 : r->out->program_count, rc = 0;
    char shown[TEXT_SHOWN];

    if (f->values)
        return one_host_read(r, f, value, where, why);
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

/* Keeps `text`, and the words from `at` on that were its value. */
static int words_keep(struct line_reader *r, const struct typed *t, const char *text, int at,
                      struct fault *why)
{
    struct string_list *l = t->is_own ? &r->out->own : &r->out->borrowed;
    int rc;

    if (!r->syntax->name || (t->is_own && t->option->scope == OPTION_COMMAND))
        return 0;
    rc = string_list_add(l, text, why);
    for (; !rc && at < r->at; at++)
        rc = string_list_add(l, r->argv[at], why);
    return rc;
}

/* `where`: as it was typed, without a value; `text`: with it. */
static int typed_read(struct line_reader *r, const struct typed *t, const char *where,
                      const char *text, struct fault *why)
{
    int at = r->at, rc;

    if (t->option)
        rc = ours_read(r, t, where, why);
    else
        rc = foreign_read(r, t->foreign, t->value, where, why);
    return rc ? rc : words_keep(r, t, text, at, why);
}

static int long_read(struct line_reader *r, const struct typed *t, const char *word,
                     struct fault *why)
{
    char *where = strndup(word, strcspn(word, "="));
    int rc;

    if (!where)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (typed_is_known(t, r->syntax))
        rc = typed_read(r, t, where, word, why);
    else
        rc = command_syntax_refuse(r->syntax, where, NULL, why);
    free(where);
    return rc;
}

static int letter_refuse(const struct line_reader *r, const char *word, char letter,
                         struct fault *why)
{
    const char where[] = {'-', letter, '\0'};
    char name[64];

    if (strlen(word) <= 4)
        return command_syntax_refuse(r->syntax, where, word[2] ? word : NULL, why);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    return command_syntax_refuse(r->syntax, name, NULL, why); /* a word, more likely than letters */
}

/* "-v", "-vvq", "-n4", "-n=4", "-n" "4". */
static int short_read(struct line_reader *r, const char *word, struct fault *why)
{
    int rc = 0;

    for (const char *c = word + 1; *c && !rc; c++) {
        char where[] = {'-', *c, '\0'}, *text = NULL;
        struct typed t;
        bool takes_rest;

        typed_find_letter(&t, r->syntax, c);
        takes_rest = typed_takes_rest(&t);
        if (!takes_rest)
            t.value = NULL;
        if (!typed_is_known(&t, r->syntax) || (t.foreign && t.foreign->hint && c != word + 1))
            return letter_refuse(r, word, *c, why);
        rc = takes_rest ? string_format(&text, why, "-%s", c) : 0;
        if (!rc)
            rc = typed_read(r, &t, where, text ? text : where, why);
        free(text);
        if (takes_rest)
            break;
    }
    return rc;
}

static int word_add(struct line_reader *r, const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (r->out->words.count == 1 && r->syntax->words_most == 1 && *word)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s takes one word, so not '%s' as well",
                         r->syntax->name, text_show(shown, word));
    if (r->out->words.count == r->syntax->words_most || !*word)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s: unexpected argument '%s'",
                         r->syntax->name, text_show(shown, word));
    return string_list_add(&r->out->words, word, why);
}

static bool is_separator(const char *word)
{
    return strcmp(word, ":") == 0;
}

static int option_read(struct line_reader *r, const char *word, struct fault *why)
{
    const char *hint = command_syntax_hint(r->syntax, word);
    struct typed t;

    if (hint)
        return command_syntax_refuse(r->syntax, word, NULL, why);
    return typed_is_long(&t, r->syntax, word) ? long_read(r, &t, word, why)
                                              : short_read(r, word, why);
}

static int options_read(struct line_reader *r, struct fault *why)
{
    bool is_mixed = r->syntax->words == COMMAND_MIXED, is_over = false;
    int rc = 0;

    while (!rc && r->at < r->argc && r->out->action == OPTIONS_RUN) {
        const char *word = r->argv[r->at];

        if (is_over || word[0] != '-' || !word[1]) {
            if (!is_mixed)
                break;
            r->at++;
            rc = word_add(r, word, why);
        } else if (strcmp(word, "--") == 0) {
            is_over = true;
            if (r->syntax->words == COMMAND_REST)
                break;
            r->at++;
        } else {
            r->at++;
            rc = option_read(r, word, why);
        }
    }
    return rc;
}

/* A program is all words up to the next ':' or the end. */
static int program_read(struct line_reader *r, struct fault *why)
{
    const char *name = r->syntax->name ? r->syntax->name : "";
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
                             "no program given: mlaunch %s%s[OPTIONS] [--] PROGRAM [ARG...]; see "
                             "mlaunch %s%s--help",
                             name, *name ? " " : "", name, *name ? " " : "");
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

int command_line_read(struct command_line *out, const struct command_syntax *syntax, void *to,
                      int argc, char *const *argv, struct fault *why)
{
    struct command_line c = {.syntax = syntax};
    struct line_reader r = {&c, syntax, to, argv, argc, 1};
    bool has_programs = syntax->words == COMMAND_PROGRAMS;
    int rc = 0;

    do {
        rc = options_read(&r, why);
        has_programs &= !(syntax->may_lack_program && !c.program_count && r.at == r.argc);
        if (!rc && has_programs && c.action == OPTIONS_RUN)
            rc = program_read(&r, why);
    } while (!rc && has_programs && c.action == OPTIONS_RUN && r.at++ < r.argc); /* over the ':' */
    c.rest = r.at;
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
    string_list_clear(&c->words);
    string_list_clear(&c->borrowed);
    string_list_clear(&c->own);
    *c = (struct command_line){0};
}

const char *command_line_value(const struct command_line *c, const char *name)
{
    return setting_last(&c->settings, name);
}

int command_line_values(struct string_list *out, const struct command_line *c, const char *name,
                        struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < c->settings.count && !rc; i++)
        if (strcmp(c->settings.items[i].option->name, name) == 0)
            rc = string_list_add(out, c->settings.items[i].value, why);
    return rc;
}
