/* SPDX-License-Identifier: MIT */
/* command_words.h: a command that a user wrote as one option's value, in words. */
#ifndef LAUNCHER_TEXT_COMMAND_WORDS_H
#define LAUNCHER_TEXT_COMMAND_WORDS_H

#include "launcher/text/string_list.h"

#include <stdbool.h>

/* Splits like a shell that expands nothing: at blanks; '…' keeps all, "…" all but \" and \\, \x is x.
 * No words, an open quote and control characters are refused: ML_ERR_ARGUMENT. */
int command_words_split(struct string_list *out, const char *text, struct fault *why);

/* Whether a word holds "{host}", and the words with the name in its place. */
bool command_words_name_host(char *const *words);
int command_words_for(struct string_list *out, char *const *words, const char *host,
                      struct fault *why);

#endif
