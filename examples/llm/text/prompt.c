/* SPDX-License-Identifier: MIT */
#include "prompt.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1024, TYPED_FIRST = 16 };

void prompt_add_bytes(struct prompt *p, const char *text, size_t length)
{
    if (p->failed)
        return;
    if (p->length + length >= p->room) {
        size_t room = 2 * (p->length + length) + ROOM_FIRST;
        char *larger = realloc(p->text, room);

        if (!larger) {
            p->failed = true;
            return;
        }
        p->text = larger;
        p->room = room;
    }
    if (length > 0)
        memcpy(p->text + p->length, text, length);
    p->length += length;
    p->text[p->length] = '\0';
}

void prompt_add(struct prompt *p, const char *text)
{
    prompt_add_bytes(p, text, strlen(text));
}

void prompt_add_typed(struct prompt *p, const char *text, size_t length)
{
    size_t begin = p->length;

    prompt_add_bytes(p, text, length);
    if (p->failed || length == 0)
        return;
    if (p->typed_count == p->typed_room) {
        size_t room = 2 * p->typed_room + TYPED_FIRST;
        struct typed_piece *larger = realloc(p->typed, room * sizeof(*larger));

        if (!larger) {
            p->failed = true;
            return;
        }
        p->typed = larger;
        p->typed_room = room;
    }
    p->typed[p->typed_count++] = (struct typed_piece){begin, p->length};
}

void prompt_free(struct prompt *p)
{
    free(p->text);
    free(p->typed);
    *p = (struct prompt){0};
}
