/* SPDX-License-Identifier: MIT */
/* text_error.h: the sentence of a failure, behind the file's name. */
#ifndef LLM_TEXT_TEXT_ERROR_H
#define LLM_TEXT_TEXT_ERROR_H

#include "examples/llm/model/gguf.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes "model.gguf: " and the text into `error`, safe for a terminal. Returns false, so that
 * callers can return it. */
bool text_error(char *error, size_t size, const struct gguf *g, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
