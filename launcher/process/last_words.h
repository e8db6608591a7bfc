/* SPDX-License-Identifier: MIT */
/* last_words.h: the end of what a process wrote on its stderr, for the sentence about its end. */
#ifndef LAUNCHER_PROCESS_LAST_WORDS_H
#define LAUNCHER_PROCESS_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct last_words {
    char bytes[2048]; /* the last ones */
    size_t size;
};

void last_words_add(struct last_words *w, const char *bytes, size_t size);

/* Adds what a non-blocking descriptor has now (-1: nothing). False once it has ended. */
bool last_words_read(struct last_words *w, int fd);

/* All of it in one line, or as much of its end as there is room for; "" if nothing was said. */
void last_words_line(const struct last_words *w, char *text, size_t size);

#endif
