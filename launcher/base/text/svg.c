/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/svg.h"

#include "common/text/utf8.h"

#include <string.h>

void svg_text(FILE *to, const char *text)
{
    while (*text) {
        uint32_t code = 0;
        size_t length = utf8_read(text, &code);

        if (!length || code < 32 || code == 127 || code == 0xfffe || code == 0xffff)
            fputc('?', to);
        else if (code < 128 && strchr("<>&\"'", *text))
            fprintf(to, "&#%u;", (unsigned)code);
        else
            fwrite(text, 1, length, to);
        text += length ? length : 1;
    }
}
