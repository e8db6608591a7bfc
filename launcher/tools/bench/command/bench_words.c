/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/command/bench_words.h"

#include "common/text/number.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD = 32 /* bytes of the longest word, with its final 0 */ };

/* Copies a word without what is ignored in it. False: it is too long. */
static bool word_reduce(char out[WORD], const char *word, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (word[i] == '_' || word[i] == '-')
            continue;
        if (used == WORD - 1)
            return false;
        out[used++] = (char)tolower((unsigned char)word[i]);
    }
    out[used] = '\0';
    return true;
}

static bool word_is(const char *reduced, const char *name)
{
    char other[WORD];

    return word_reduce(other, name, strlen(name)) && strcmp(reduced, other) == 0;
}

static int part_find(const char *const *names, const struct bench_alias *aliases, const char *word,
                     size_t length)
{
    char reduced[WORD];

    if (!word_reduce(reduced, word, length) || !*reduced)
        return -1;
    for (int i = 0; names[i]; i++)
        if (word_is(reduced, names[i]))
            return i;
    for (int i = 0; aliases[i].word; i++)
        if (word_is(reduced, aliases[i].word))
            return aliases[i].value;
    return -1;
}

int bench_words_find(const char *const *names, const struct bench_alias *aliases, const char *word)
{
    return part_find(names, aliases, word, strlen(word));
}

int bench_words_find_operation(const char *const *names, const struct bench_alias *aliases,
                               const char *word)
{
    static const char before[] = "osu_", behind[] = "_perf";
    size_t length = strlen(word), size = sizeof(behind) - 1;

    if (strncasecmp(word, before, sizeof(before) - 1) == 0)
        return part_find(names, aliases, word + sizeof(before) - 1, length - sizeof(before) + 1);
    if (length > size && strcasecmp(word + length - size, behind) == 0)
        length -= size;
    return part_find(names, aliases, word, length);
}

/* Drops "B" or "iB" at the end; the latter only behind a letter. */
static size_t bytes_drop(const char *text, size_t length)
{
    if (length < 2 || tolower((unsigned char)text[length - 1]) != 'b')
        return length;
    length--;
    return length > 2 && text[length - 1] == 'i' && isalpha((unsigned char)text[length - 2])
               ? length - 1
               : length;
}

bool bench_words_size(const char *text, size_t length, int64_t most, int64_t *out)
{
    return number_parse_size(text, bytes_drop(text, length), most, out);
}
