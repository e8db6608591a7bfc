/* SPDX-License-Identifier: MIT */
/* utf8.h: reads text as UTF-8; forms that are too long and halves of UTF-16 are refused. */
#ifndef COMMON_TEXT_UTF8_H
#define COMMON_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the size in bytes of the character at the beginning of `text`, and stores its number in
 * *code; 0: it is not UTF-8. */
size_t utf8_read(const char *text, uint32_t *code);

/* True if the text can be a JSON string, as everything sent to an agent must be. */
bool utf8_is_valid(const char *text);

#endif
