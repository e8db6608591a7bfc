/* SPDX-License-Identifier: MIT */
#include "launcher/text/command_words.h"

#include "launcher/text/text_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char gap[] = "{host}";
enum { GAP = sizeof(gap) - 1 };

static int text_check(const char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) && *c != '\t')
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' contains a control character",
                             text_show(shown, text));
    return 0;
}

/* Moves one character or quoted part from *at to *to, without the quotes. False: it has no end. */
static bool part_move(const char **at, char **to)
{
    char quote = **at;

    if (quote == '\\') {
        if (!(*at)[1])
            return false;
        *(*to)++ = (*at)[1];
        *at += 2;
        return true;
    }
    if (quote != '\'' && quote != '"') {
        *(*to)++ = *(*at)++;
        return true;
    }
    for ((*at)++; **at != quote; (*at)++) {
        if (quote == '"' && **at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
            (*at)++;
        if (!**at)
            return false;
        *(*to)++ = **at;
    }
    (*at)++;
    return true;
}

int command_words_split(struct string_list *out, const char *text, struct fault *why)
{
    char *word = malloc(strlen(text) + 1), shown[TEXT_SHOWN];
    const char *at = text;
    int rc = word ? text_check(text, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");

    while (!rc && *(at += strspn(at, " \t"))) {
        char *to = word;

        while (!rc && *at && !text_is_blank(*at))
            if (!part_move(&at, &to))
                rc = fault_set(why, ML_ERR_ARGUMENT, "'%s' ends inside quotes",
                               text_show(shown, text));
        *to = '\0';
        if (!rc)
            rc = string_list_add(out, word, why);
    }
    free(word);
    if (!rc && (out->count == 0 || !*out->items[0]))
        rc = fault_set(why, ML_ERR_ARGUMENT, "'%s' names no program", text_show(shown, text));
    return rc;
}

bool command_words_name_host(char *const *words)
{
    for (; *words; words++)
        if (strstr(*words, gap))
            return true;
    return false;
}

static int word_add(struct string_list *out, const char *word, const char *host, struct fault *why)
{
    const char *found = strstr(word, gap);
    char *full = NULL;
    int rc;

    if (!found)
        return string_list_add(out, word, why);
    rc = string_format(&full, why, "%.*s%s%s", (int)(found - word), word, host, found + GAP);
    if (!rc)
        rc = word_add(out, full, host,
                      why); /* for further gaps; the name of a host contains no brace */
    free(full);
    return rc;
}

int command_words_for(struct string_list *out, char *const *words, const char *host,
                      struct fault *why)
{
    int rc = 0;

    for (; *words && !rc; words++)
        rc = word_add(out, *words, host, why);
    return rc;
}

void command_words_quote(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+./,:@%^";

    if (*word && !word[strspn(word, plain)]) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word, to);
    }
    fputc('\'', to);
}
