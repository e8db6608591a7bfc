/* SPDX-License-Identifier: MIT */
#include "text_out.h"

#include "characters.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct stop_string {
    char *text;
    size_t length;
};

/* `held` is: what was given out with the last call, then text that is UTF-8 and is held back for
 * the stop strings, then the beginning of a character. */
struct text_out {
    struct stop_string *stops;
    size_t stop_count;
    char *held;
    size_t room, given, whole, length;
    bool has_stopped, has_failed;
};

struct text_out *text_out_new(const char *const *stops, size_t count)
{
    struct text_out *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->room = 64;
    o->held = malloc(o->room);
    o->stops = calloc(count + 1, sizeof(*o->stops));
    if (!o->held || !o->stops)
        goto fail;
    for (size_t i = 0; i < count; i++) {
        if (stops[i][0] == '\0')
            continue;
        o->stops[o->stop_count].text = strdup(stops[i]);
        if (!o->stops[o->stop_count].text)
            goto fail;
        o->stops[o->stop_count++].length = strlen(stops[i]);
    }
    return o;
fail:
    text_out_free(o);
    return NULL;
}

void text_out_free(struct text_out *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->stop_count; i++)
        free(o->stops[i].text);
    free(o->stops);
    free(o->held);
    free(o);
}

/* Makes room for this many more bytes. */
static bool room_make(struct text_out *o, size_t more)
{
    char *larger;

    if (o->length + more <= o->room)
        return true;
    larger = realloc(o->held, 2 * (o->length + more));
    if (!larger) {
        o->has_failed = true;
        return false;
    }
    o->held = larger;
    o->room = 2 * (o->length + more);
    return true;
}

/* Moves `whole` behind the characters that are complete, and replaces bytes that can become
 * none. */
static bool whole_advance(struct text_out *o, bool is_end)
{
    while (o->whole < o->length) {
        size_t left = o->length - o->whole, size;
        size_t n = characters_read(o->held + o->whole, left, &size);

        if (n && n == size) {
            o->whole += n;
            continue;
        }
        if (!is_end && n == left)
            return true; /* more of it may come */
        /* One U+FFFD for as much of a character as there is, as Unicode recommends. */
        if (!n)
            n = 1;
        if (!room_make(o, 3))
            return false;
        memmove(o->held + o->whole + 3, o->held + o->whole + n, left - n);
        memcpy(o->held + o->whole, CHARACTERS_UNKNOWN, 3);
        o->whole += 3;
        o->length += 3 - n;
    }
    return true;
}

/* Where the first stop string begins in what is whole; SIZE_MAX: nowhere. */
static size_t stop_find(const struct text_out *o)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < o->stop_count; i++) {
        const char *found = memmem(o->held, o->whole, o->stops[i].text, o->stops[i].length);

        if (found && (size_t)(found - o->held) < first)
            first = (size_t)(found - o->held);
    }
    return first;
}

/* Where what may become a stop string begins. */
static size_t stop_begin(const struct text_out *o)
{
    size_t first = o->whole;

    for (size_t i = 0; i < o->stop_count; i++) {
        size_t most = o->stops[i].length - 1;

        if (most > o->whole)
            most = o->whole;
        for (size_t n = most; n > 0 && o->whole - n < first; n--) {
            if (memcmp(o->held + o->whole - n, o->stops[i].text, n) == 0)
                first = o->whole - n;
        }
    }
    return first;
}

static void given_forget(struct text_out *o)
{
    memmove(o->held, o->held + o->given, o->length - o->given);
    o->length -= o->given;
    o->whole -= o->given;
    o->given = 0;
}

/* The first `size` bytes are given out. */
static void text_give(struct text_out *o, size_t size, const char **ready, size_t *ready_length)
{
    *ready = o->held;
    *ready_length = size;
    o->given = size;
}

bool text_out_add(struct text_out *o, const char *bytes, size_t length, const char **ready,
                  size_t *ready_length)
{
    size_t stop;

    given_forget(o);
    *ready = "";
    *ready_length = 0;
    if (o->has_stopped)
        return true;
    if (!room_make(o, length))
        return false;
    memcpy(o->held + o->length, bytes, length);
    o->length += length;
    if (!whole_advance(o, false))
        return false;
    stop = stop_find(o);
    o->has_stopped = stop != SIZE_MAX;
    text_give(o, o->has_stopped ? stop : stop_begin(o), ready, ready_length);
    if (o->has_stopped)
        o->length = o->whole = stop;
    return o->has_stopped;
}

void text_out_end(struct text_out *o, const char **ready, size_t *ready_length)
{
    given_forget(o);
    whole_advance(o, true);
    text_give(o, o->has_stopped ? 0 : o->whole, ready, ready_length);
}

bool text_out_has_failed(const struct text_out *o)
{
    return o->has_failed;
}
