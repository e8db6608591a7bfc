/* SPDX-License-Identifier: MIT */
/*
 * text_out.h: the output of a model, given out as soon as it is certain.
 *
 * Held back are the beginning of a character whose other bytes have not come yet, and what may be
 * the beginning of a stop string. Bytes that can become no character are replaced by U+FFFD, so
 * what is given out is UTF-8.
 */
#ifndef LLM_TEXT_TEXT_OUT_H
#define LLM_TEXT_TEXT_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct text_out;

/* The stop strings are copied; empty ones are left out. NULL: out of memory. */
struct text_out *text_out_new(const char *const *stops, size_t count);
void text_out_free(struct text_out *o); /* takes NULL */

/* Adds a token's bytes. *ready is what is certain now: not terminated, and valid until the next
 * call. True: a stop string has come; *ready ends before it, and nothing more is taken. */
bool text_out_add(struct text_out *o, const char *bytes, size_t length, const char **ready,
                  size_t *ready_length);

/* No more tokens: what was held back. */
void text_out_end(struct text_out *o, const char **ready, size_t *ready_length);

/* Memory has ended meanwhile; something was lost. */
bool text_out_has_failed(const struct text_out *o);

#endif
