/* SPDX-License-Identifier: MIT */
/* number.h: strict parsing of whole numbers and hexadecimal bytes; sizes as text. */
#ifndef COMMON_TEXT_NUMBER_H
#define COMMON_TEXT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses `text`, all of which must be one decimal number (with an optional '-' if min < 0) within
 * [min, max]. False: it is not, and *out is unchanged. */
bool number_parse(const char *text, int64_t min, int64_t max, int64_t *out);

/* Parses the first `length` bytes: "4096", or "4K", "4M", "4G" with powers of 1024, in either case.
 * False: they are no such number, or beyond max, and *out is unchanged. */
bool number_parse_size(const char *text, size_t length, int64_t max, int64_t *out);

/* "812 bytes", "3.4 MB", with powers of 1000. Returns `out`. */
enum { NUMBER_SIZE = 32 };
const char *number_size(char out[NUMBER_SIZE], uint64_t bytes);

/* hex_write writes `size` bytes as lower-case hexadecimal into out (2 * size + 1 bytes,
 * terminated). hex_parse reads them back; false: `text` is not exactly 2 * size hexadecimal digits,
 * and `out` is unchanged. */
void hex_write(char *out, const uint8_t *bytes, size_t size);
bool hex_parse(const char *text, uint8_t *out, size_t size);

#endif
