/* SPDX-License-Identifier: MIT */
/* command_words.h: splits a command that is the value of one option into words; quotes words. */
#ifndef LAUNCHER_BASE_TEXT_COMMAND_WORDS_H
#define LAUNCHER_BASE_TEXT_COMMAND_WORDS_H

#include "common/text/text_gaps.h"
#include "launcher/base/text/string_list.h"

#include <stdbool.h>
#include <stdio.h>

/* Splits at blanks, as a shell that expands nothing: '…' keeps everything, "…" everything but \"
 * and \\, and \x is x. ML_ERR_ARGUMENT: there is no word, a quote is open, or there is a control
 * character. */
int command_words_split(struct string_list *out, const char *text, struct fault *why);

/* True if one of the words contains "{host}". */
bool command_words_name_host(char *const *words);

/* Appends the words with their gaps filled in (text_gaps.h). ML_ERR_MEMORY. */
int command_words_fill(struct string_list *out, char *const *words, const struct text_gap *gaps,
                       struct fault *why);

/* Writes a word as a POSIX shell reads it: in '…' where that is needed. */
void command_words_quote(FILE *to, const char *word);

#endif
