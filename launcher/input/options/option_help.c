/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/option_help.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80 };

/* Prints `text` to the right of OPTION_COLUMN, wrapped at blanks. */
static void text_print(const char *text)
{
    while (*text) {
        size_t n = strlen(text);

        if (n > WIDTH - OPTION_COLUMN)
            for (n = WIDTH - OPTION_COLUMN; n > 0 && text[n] != ' ';)
                n--;
        printf("%.*s\n", (int)n, text);
        text += n;
        text += strspn(text, " ");
        if (*text)
            printf("%*s", OPTION_COLUMN, "");
    }
}

void option_help_print(const struct option *s)
{
    char names[96], letter[8] = "   ";
    int n;

    if (s->letter)
        snprintf(letter, sizeof(letter), "-%c,", s->letter);
    n = snprintf(names, sizeof(names), "  %s --%s%s%s%s%s", letter, s->name, s->alias ? ", --" : "",
                 s->alias ? s->alias : "", s->argument ? " " : "", s->argument ? s->argument : "");
    printf("%s", names);
    if (n + 2 > OPTION_COLUMN)
        printf("\n%*s", OPTION_COLUMN, "");
    else
        printf("%*s", OPTION_COLUMN - n, "");
    text_print(s->help);
}

void option_help_print_command(const char *name, const char *help)
{
    printf("  %-*s", OPTION_COLUMN - 2, name);
    text_print(help);
}
