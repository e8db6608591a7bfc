/* SPDX-License-Identifier: MIT */
/* last_words.h: the end of what a process or a rank wrote to stderr, for the message about its
 * end. */
#ifndef LAUNCHER_BASE_PROCESS_LAST_WORDS_H
#define LAUNCHER_BASE_PROCESS_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct last_words {
    char bytes[2048]; /* the last ones */
    size_t size;
};

void last_words_add(struct last_words *w, const char *bytes, size_t size);

/* Adds the bytes that a non-blocking descriptor has now (-1: none). False: it has ended. */
bool last_words_read(struct last_words *w, int fd);

/* All bytes as one line without control characters, or as much of its end as `size` allows; "" if
 * there are none. */
void last_words_line(const struct last_words *w, char *text, size_t size);

/* The last lines as they are, whole ones if there are any, without the final newline, in at most
 * size - 1 bytes and a NUL; "" if there are none. */
void last_words_text(const struct last_words *w, char *text, size_t size);

#endif
