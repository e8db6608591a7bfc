/* SPDX-License-Identifier: MIT */
#include "common/text/printable.h"

#include "common/text/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

void printable_mend(char *text, const char *kept)
{
    char *to = text;

    while (*text) {
        uint32_t code = 0;
        size_t size = utf8_read(text, &code);

        if (size == 0 || (is_control(code) && !(code < 0x80 && strchr(kept, (int)code)))) {
            *to++ = '?';
            text += size ? size : 1;
        } else {
            memmove(to, text, size);
            to += size;
            text += size;
        }
    }
    *to = '\0';
}

void printable_print(const char *format, ...)
{
    char *text;
    va_list args;
    int size;

    va_start(args, format);
    size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0)
        return;
    printable_mend(text, "\n\t");
    fputs(text, stdout);
    free(text);
}
