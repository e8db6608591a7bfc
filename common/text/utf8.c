/* SPDX-License-Identifier: MIT */
#include "common/text/utf8.h"

size_t utf8_read(const char *text, uint32_t *code)
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

bool utf8_is_valid(const char *text)
{
    uint32_t code;

    while (*text) {
        size_t size = utf8_read(text, &code);

        if (size == 0)
            return false;
        text += size;
    }
    return true;
}
