/* SPDX-License-Identifier: MIT */
/* number.h: whole numbers out of text, strictly: all of it digits, within bounds. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True and *out set if all of `text` is one decimal number (an optional '-' if min < 0) within
 * [min, max]; else false and *out unchanged. */
bool number_parse(const char *text, int64_t min, int64_t max, int64_t *out);

/* Lower-case hexadecimal of `size` bytes into out (2 * size + 1 bytes, terminated); and back: true if
 * `text` is exactly 2 * size hexadecimal digits. */
void hex_write(char *out, const uint8_t *bytes, size_t size);
bool hex_parse(const char *text, uint8_t *out, size_t size);

#endif
