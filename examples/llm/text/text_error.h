/* SPDX-License-Identifier: MIT */
/* text_error.h: the sentence of a failure, behind the file's name. */
#ifndef LLM_TEXT_TEXT_ERROR_H
#define LLM_TEXT_TEXT_ERROR_H

#include "../model/gguf.h"

#include <stdbool.h>
#include <stddef.h>

/* As gguf_sentence(). Returns false, so that callers can return it. */
bool text_error(char *error, size_t size, const struct gguf *g, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
