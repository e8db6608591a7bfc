/* SPDX-License-Identifier: MIT */
/* characters.h: UTF-8 in bytes that may be something else. */
#ifndef LLM_TEXT_CHARACTERS_H
#define LLM_TEXT_CHARACTERS_H

#include <stddef.h>

#define CHARACTERS_UNKNOWN "\xef\xbf\xbd" /* U+FFFD */

/* The character that begins with the first byte has *size bytes, of which the first N of `text` are
 * there: returns N. It is whole if N is *size, and may become so with more bytes if N is `length`,
 * which is at least 1. 0: no character begins so. */
size_t characters_read(const char *text, size_t length, size_t *size);

/* A copy, terminated, in which each byte that is part of no character is U+FFFD. The caller frees
 * it; NULL: no memory. `size` may point to `length`'s variable. */
char *characters_mend(const char *text, size_t length, size_t *size);

#endif
