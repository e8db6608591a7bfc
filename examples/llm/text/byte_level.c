/* SPDX-License-Identifier: MIT */
#include "byte_level.h"

#include <stdbool.h>

enum { MOVED_FIRST = 256, MOVED_COUNT = 68 };

static bool is_itself(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* How many bytes below this one are moved. */
static unsigned moved_before(unsigned byte)
{
    return byte <= 33 ? byte : byte <= 126 ? 33 : byte <= 160 ? byte - 94 : 67;
}

static uint8_t moved_byte(unsigned number)
{
    return (uint8_t)(number < 33 ? number : number < 67 ? number + 94 : 173);
}

size_t byte_level_write(uint8_t byte, char out[BYTE_LEVEL_MOST])
{
    unsigned code = is_itself(byte) ? byte : MOVED_FIRST + moved_before(byte);

    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

size_t byte_level_read(const char *text, size_t length, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned first = (unsigned char)text[i], code;

        /* All characters of the table beyond ASCII take two bytes. */
        if (first >= 0xc2 && first <= 0xc5 && i + 1 < length) {
            code = (first & 0x1f) << 6 | ((unsigned char)text[i + 1] & 0x3f);
            if (code >= MOVED_FIRST && code < MOVED_FIRST + MOVED_COUNT) {
                out[used++] = (char)moved_byte(code - MOVED_FIRST);
                i++;
                continue;
            }
            if (code < MOVED_FIRST && is_itself(code)) {
                out[used++] = (char)code;
                i++;
                continue;
            }
        }
        out[used++] = text[i];
    }
    return used;
}
