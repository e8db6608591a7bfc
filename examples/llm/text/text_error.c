/* SPDX-License-Identifier: MIT */
#include "examples/llm/text/text_error.h"

#include "common/text/printable.h"

#include <stdarg.h>
#include <stdio.h>

bool text_error(char *error, size_t size, const struct gguf *g, const char *format, ...)
{
    int used = snprintf(error, size, "%s: ", gguf_path(g));
    va_list args;

    if (size == 0)
        return false;
    if (used >= 0 && (size_t)used < size) {
        va_start(args, format);
        vsnprintf(error + used, size - (size_t)used, format, args);
        va_end(args);
    }
    printable_mend(error, "");
    return false;
}
