/* SPDX-License-Identifier: MIT */
#include "characters.h"

#include <stdlib.h>
#include <string.h>

size_t characters_read(const char *text, size_t length, size_t *size)
{
    unsigned char first = (unsigned char)text[0], least = 0x80, most = 0xbf;
    size_t n = 1;

    *size = first < 0x80   ? 1
            : first < 0xc2 ? 0
            : first < 0xe0 ? 2
            : first < 0xf0 ? 3
            : first < 0xf5 ? 4
                           : 0;
    if (!*size)
        return 0;
    /* No forms that are too long, no halves of UTF-16, nothing above U+10FFFF. */
    if (first == 0xe0)
        least = 0xa0;
    else if (first == 0xf0)
        least = 0x90;
    else if (first == 0xed)
        most = 0x9f;
    else if (first == 0xf4)
        most = 0x8f;
    for (; n < *size && n < length; n++) {
        unsigned char next = (unsigned char)text[n];

        if (next < least || next > most)
            break;
        least = 0x80;
        most = 0xbf;
    }
    return n;
}

char *characters_mend(const char *text, size_t length, size_t *size)
{
    char *out = malloc(3 * length + 1), *at = out;

    if (!out)
        return NULL;
    for (size_t i = 0; i < length;) {
        size_t whole, n = characters_read(text + i, length - i, &whole);

        if (n && n == whole) {
            at = mempcpy(at, text + i, n);
            i += n;
        } else {
            at = mempcpy(at, CHARACTERS_UNKNOWN, 3);
            i++;
        }
    }
    *at = '\0';
    *size = (size_t)(at - out);
    return out;
}
