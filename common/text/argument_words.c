/* SPDX-License-Identifier: MIT */
#include "common/text/argument_words.h"

#include "common/text/text_stream.h"

#include <stdbool.h>
#include <string.h>

const char *const argument_word_names[ARGUMENT_WORDS] = {
    [WORD_RANK] = "{rank}", [WORD_HOST_RANK] = "{host_rank}", [WORD_LOCAL_RANK] = "{local_rank}",
    [WORD_SIZE] = "{size}", [WORD_HOSTS] = "{hosts}",         [WORD_HOST] = "{host}",
    [WORD_HEAD] = "{head}", [WORD_PORT] = "{port}",           [WORD_BRACE] = "{{",
};

/* The word that `text` begins with, or ARGUMENT_WORDS. */
static int word_at(const char *text)
{
    int word = 0;

    while (word < ARGUMENT_WORDS &&
           strncmp(text, argument_word_names[word], strlen(argument_word_names[word])) != 0)
        word++;
    return word;
}

const char *argument_words_find(const char *text, unsigned *used)
{
    while ((text = strchr(text, '{'))) {
        int word = word_at(text);

        if (word == ARGUMENT_WORDS)
            return text;
        *used |= 1U << word;
        text += strlen(argument_word_names[word]);
    }
    return NULL;
}

char *argument_words_fill(const char *text, const char *const values[ARGUMENT_WORDS])
{
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return NULL;
    while (*text) {
        int word = word_at(text);
        bool is_bracketed;

        if (word == ARGUMENT_WORDS) {
            fputc(*text++, to);
            continue;
        }
        text += strlen(argument_word_names[word]);
        is_bracketed = word == WORD_HEAD && *text == ':' && strchr(values[word], ':');
        fprintf(to, is_bracketed ? "[%s]" : "%s", values[word]);
    }
    return text_stream_close(to, &s);
}
