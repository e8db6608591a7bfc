/* SPDX-License-Identifier: MIT */
#include "common/text/text_gaps.h"

#include "common/text/text_stream.h"

#include <string.h>

char *text_gaps_fill(const char *text, const struct text_gap *gaps)
{
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return NULL;
    while (*text) {
        const struct text_gap *g = gaps;

        while (g->name && strncmp(text, g->name, strlen(g->name)) != 0)
            g++;
        if (g->name)
            fputs(g->value, to);
        else
            fputc(*text, to);
        text += g->name ? strlen(g->name) : 1;
    }
    return text_stream_close(to, &s);
}
