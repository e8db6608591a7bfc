/* SPDX-License-Identifier: MIT */
#include "common/text/text_stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Fewer bytes than asked for are an error of the stream, which stays until its end. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
    struct text_stream *s = cookie;

    if (size >= s->room - s->size) {
        size_t room = 2 * (s->size + size + 1);
        char *bigger = realloc(s->text, room);

        if (!bigger)
            return 0;
        s->text = bigger;
        s->room = room;
    }
    memcpy(s->text + s->size, bytes, size);
    s->size += size;
    return (ssize_t)size;
}

FILE *text_stream_open(struct text_stream *s)
{
    *s = (struct text_stream){0};
    return fopencookie(s, "w", (cookie_io_functions_t){.write = stream_write});
}

char *text_stream_close(FILE *to, struct text_stream *s)
{
    bool failed = ferror(to);

    failed |= fclose(to) != 0;
    if (!failed && !s->text)
        s->text = calloc(1, 1);
    if (failed || !s->text) {
        free(s->text);
        return NULL;
    }
    s->text[s->size] = '\0';
    return s->text;
}
