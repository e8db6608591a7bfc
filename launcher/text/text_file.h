/* SPDX-License-Identifier: MIT */
/* text_file.h: whole text files that users wrote, and what of them may be shown in a message. */
#ifndef LAUNCHER_TEXT_TEXT_FILE_H
#define LAUNCHER_TEXT_TEXT_FILE_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TEXT_FILE_LIMIT = 16 << 20, /* bytes: more is a mistake, such as a data file's name */
    TEXT_SHOWN = 80,            /* bytes of a shown text, terminated */
};

/* Reads a file, pipe or device to its end. *out is `size` bytes with a 0 behind them, without a
 * byte order mark and with no 0 among them; the caller frees it. Sentences begin with `path`. */
int text_file_read(const char *path, char **out, size_t *size, struct fault *why);

/* Takes the next line off `*text`: without "\n" or "\r\n", terminated in place. NULL at the end. */
char *text_line(char **text);

/* Without blanks at both ends, terminated in place. */
char *text_trim(char *text);
bool text_is_blank(char c); /* space or tab */

/* Whether it can be said in JSON: what goes to an agent must. */
bool text_is_utf8(const char *text);

/* The text for a message: control characters become '?', what is too long is cut with "...". */
const char *text_show(char out[TEXT_SHOWN], const char *text);

#endif
