/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/command_syntax.h"

#include "launcher/base/text/nearest.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/foreign.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 30 /* at which descriptions begin */, WIDTH = 80 };

/* --- options ---------------------------------------------------------------------------------- */

bool command_syntax_borrows(const struct command_syntax *s, const char *name)
{
    if (s->borrows_all)
        return !s->without || !strings_has((char *const *)s->without, name);
    for (size_t i = 0; i < sizeof(s->borrowed) / sizeof(*s->borrowed); i++)
        if (s->borrowed[i] && strings_has((char *const *)s->borrowed[i], name))
            return true;
    return strcmp(name, "help") == 0;
}

const char *command_syntax_hint(const struct command_syntax *s, const char *word)
{
    size_t length = strcspn(word, "=");

    for (const struct command_hint *h = s->hints; h && h->word; h++)
        if (strlen(h->word) == length && strncmp(h->word, word, length) == 0)
            return h->text;
    return NULL;
}

/* The known option of which `name` is a slip, or NULL. */
static const char *slip_find(const struct command_syntax *s, const char *name)
{
    const struct option *const tables[] = {s->own, option_table};
    struct nearest n = {.typed = name};

    for (int i = 0; i < 2; i++) {
        for (const struct option *o = tables[i]; o && o->help; o++) {
            if (i == 1 && (!o->name || !command_syntax_borrows(s, o->name)))
                continue;
            nearest_offer(&n, o->name);
            nearest_offer(&n, o->alias);
        }
    }
    return strlen(name) > 1 ? nearest_slip(&n) : NULL;
}

/* `shown`: with its dashes; `name`: without; `begin` comes before the sentence. */
static int unknown_refuse(const struct command_syntax *s, const char *begin, const char *shown,
                          const char *name, struct fault *why)
{
    const struct foreign *f = foreign_find(name, strlen(name));
    const char *near = slip_find(s, name);

    if (f && f->option && command_syntax_borrows(s, f->option))
        return fault_set(why, ML_ERR_ARGUMENT, "%sunknown option %s; here it is called --%s", begin,
                         shown, f->option);
    if (near)
        return fault_set(why, ML_ERR_ARGUMENT, "%sunknown option %s; did you mean %.*s%s?", begin,
                         shown, (int)strspn(shown, "-"), shown, near);
    if (!s->name)
        return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; mlaunch --help lists all",
                         shown);
    return fault_set(why, ML_ERR_ARGUMENT, "%sunknown option %s; mlaunch %s --help %s%s", begin,
                     shown, s->name, s->borrows_all ? "and mlaunch --help list all" : "lists all",
                     s->unknown ? s->unknown : "");
}

int command_syntax_refuse(const struct command_syntax *s, const char *word, const char *within,
                          struct fault *why)
{
    char name[TEXT_SHOWN], shown[2 * TEXT_SHOWN + 8], whole[TEXT_SHOWN], begin[64] = "";
    const char *hint = command_syntax_hint(s, word), *bare;
    const struct option *option;

    snprintf(whole, sizeof(whole), "%.*s", (int)strcspn(word, "="), word);
    text_show(name, whole);
    bare = name + strspn(name, "-");
    option = option_table_find(bare);
    if (!option && name[1] != '-' && !bare[1])
        option = option_table_search_letter(option_table, *bare);
    if (s->name)
        snprintf(begin, sizeof(begin), "mlaunch %s: ", s->name);
    if (!hint && s->why_without && (option || foreign_find(bare, strlen(bare))))
        hint = s->why_without;
    if (hint)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch %s has no %s: %s", s->name, name, hint);
    if (option)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s%s is an option of a job, and has no meaning here; mlaunch %s --help "
                         "lists all",
                         begin, name, s->name);
    if (within)
        snprintf(shown, sizeof(shown), "%s in '%s'", name, text_show(whole, within));
    return unknown_refuse(s, begin, within ? shown : name, bare, why);
}

/* --- help ------------------------------------------------------------------------------------- */

/* Prints `text` to the right of COLUMN, wrapped at blanks, behind `used` columns. */
static void text_print(const char *text, int used)
{
    if (used + 2 > COLUMN)
        printf("\n%*s", COLUMN, "");
    else
        printf("%*s", COLUMN - used, "");
    while (*text) {
        size_t n = strlen(text);

        if (n > WIDTH - COLUMN)
            for (n = WIDTH - COLUMN; n > 0 && text[n] != ' ';)
                n--;
        printf("%.*s\n", (int)n, text);
        text += n;
        text += strspn(text, " ");
        if (*text)
            printf("%*s", COLUMN, "");
    }
}

static void option_print(const struct option *o)
{
    int used = o->letter ? printf("  -%c%s", o->letter, o->name ? "," : "") : printf("     ");

    if (o->name)
        used += printf(" --%s", o->name);
    if (o->alias)
        used += printf(", --%s", o->alias);
    if (o->argument)
        used += printf(" %s", o->argument);
    text_print(o->help, used);
}

void command_syntax_print_options(const struct option *table)
{
    for (const struct option *o = table; o && o->help; o++) {
        if (!o->name && !o->letter)
            printf("\n%s\n", o->help);
        else if (*o->help)
            option_print(o);
    }
}

void command_syntax_print_command(const char *name, const char *help)
{
    text_print(help, printf("  %s", name));
}

/* The row of a table that --help prints for an option of run. */
static const struct option *row_find(const struct command_syntax *s, const char *name)
{
    for (const struct option *o = s->reworded; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return option_table_find(name);
}

void command_syntax_print_help(const struct command_syntax *s)
{
    printf("%s\n\n", s->usage);
    command_syntax_print_options(s->own);
    for (size_t i = 0; i < sizeof(s->borrowed) / sizeof(*s->borrowed); i++)
        for (const char *const *name = s->borrowed[i]; name && *name; name++)
            option_print(row_find(s, *name));
    option_print(option_table_find("help"));
    if (s->ending)
        printf("\n%s\n", s->ending);
}
