/* SPDX-License-Identifier: MIT */
#include "text_error.h"

#include <stdarg.h>

bool text_error(char *error, size_t size, const struct gguf *g, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    gguf_sentence(error, size, gguf_path(g), format, args);
    va_end(args);
    return false;
}
