/* SPDX-License-Identifier: MIT */
/* text_file.h: reads whole text files that users wrote, and prepares text for messages. */
#ifndef LAUNCHER_BASE_TEXT_TEXT_FILE_H
#define LAUNCHER_BASE_TEXT_TEXT_FILE_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TEXT_FILE_LIMIT = 16 << 20, /* bytes; a larger file is a mistake, such as a data file */
    TEXT_SHOWN = 80,            /* bytes of a shown text with its final 0 */
};

/* Reads a file, pipe or device to its end. *out holds *size bytes and a final 0, without a byte
 * order mark and without other 0 bytes; the caller frees it. Messages begin with `path`.
 * ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int text_file_read(const char *path, char **out, size_t *size, struct fault *why);

/* Removes the next line from *text and returns it without "\n" or "\r\n", terminated in place. NULL
 * at the end. */
char *text_line(char **text);

/* Returns `text` without the blanks at both ends, terminated in place. */
char *text_trim(char *text);
bool text_is_blank(char c); /* space or tab */

/* Copies the text for a message: control characters become '?', and a long text is cut with "...".
 * Returns `out`. */
const char *text_show(char out[TEXT_SHOWN], const char *text);

#endif
