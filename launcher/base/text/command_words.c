/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/command_words.h"

#include "launcher/base/text/text_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
        if (strstr(*words, "{host}"))
            return true;
    return false;
}

int command_words_fill(struct string_list *out, char *const *words, const struct text_gap *gaps,
                       struct fault *why)
{
    int rc = 0;

    for (; *words && !rc; words++) {
        char *word = text_gaps_fill(*words, gaps);

        rc =
            word ? string_list_add(out, word, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
        free(word);
    }
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
