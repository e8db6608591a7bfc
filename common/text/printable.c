/* SPDX-License-Identifier: MIT */
#include "common/text/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the size of the character that begins here; 0: it is not UTF-8. */
static size_t character_read(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter forms are invalid */
    unsigned char first = (unsigned char)*text;
    size_t size = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (size == 0 || first > 0xf4)
        return 0;
    *code = size == 1 ? first : first & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text[i];

        if ((next & 0xc0) != 0x80) /* also the end of the text */
            return 0;
        *code = *code << 6 | (next & 0x3f);
    }
    if (*code < least[size] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
        return 0;
    return size;
}

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
        size_t size = character_read(text, &code);

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
