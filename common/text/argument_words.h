/* SPDX-License-Identifier: MIT */
/*
 * argument_words.h: the words of --words, which each rank's host fills in the program's arguments:
 * "--node-rank={host_rank}". "{{" stands for a brace.
 */
#ifndef COMMON_TEXT_ARGUMENT_WORDS_H
#define COMMON_TEXT_ARGUMENT_WORDS_H

enum argument_word {
    WORD_RANK,
    WORD_HOST_RANK,
    WORD_LOCAL_RANK,
    WORD_SIZE,
    WORD_HOSTS,
    WORD_HOST,
    WORD_HEAD,
    WORD_PORT,
    WORD_BRACE, /* "{{" */
    ARGUMENT_WORDS
};

/* As they are written, with their braces. */
extern const char *const argument_word_names[ARGUMENT_WORDS];

/* Adds to *used a bit, 1 << word, for each word in `text`. Returns the first brace that begins
 * none, or NULL. */
const char *argument_words_find(const char *text, unsigned *used);

/* Returns `text` with the words' values in their places, for the caller to free. An address of IPv6
 * is put in brackets where a ':' follows it. A brace that begins no word stays as it is. NULL: out
 * of memory. */
char *argument_words_fill(const char *text, const char *const values[ARGUMENT_WORDS]);

#endif
