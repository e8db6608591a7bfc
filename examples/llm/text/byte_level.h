/* SPDX-License-Identifier: MIT */
/* byte_level.h: how byte-level BPE writes bytes as characters (GPT-2's table): those that are
 * printable in Latin-1 as themselves, the others, in order, from U+0100 on. */
#ifndef LLM_TEXT_BYTE_LEVEL_H
#define LLM_TEXT_BYTE_LEVEL_H

#include <stddef.h>
#include <stdint.h>

enum { BYTE_LEVEL_MOST = 2 }; /* bytes of UTF-8 that a byte takes */

/* Writes the byte's character as UTF-8 and returns its size, 1 or 2. */
size_t byte_level_write(uint8_t byte, char out[BYTE_LEVEL_MOST]);

/* The bytes that `length` bytes of text stand for; `out` has room for `length`. What is no such
 * character is copied. Returns how many were written. */
size_t byte_level_read(const char *text, size_t length, char *out);

#endif
