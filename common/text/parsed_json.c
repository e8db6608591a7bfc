/* SPDX-License-Identifier: MIT */
#include "common/text/parsed_json.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory that jansson has taken for a text. What it gives back meanwhile is freed at the end:
 * to look for it among the pieces would take time that grows with the square of the text. */
struct parsing {
    void **pieces, **released; /* room for `capacity` each */
    size_t count, released_count, capacity, most;
    jmp_buf give_up; /* with a reason */
};

enum give_up_reason { NO_MEMORY = 1, TOO_LARGE };

/* What this thread parses; NULL: nothing. */
static _Thread_local struct parsing *parsing;

static void list_grow(struct parsing *p, void ***list, size_t capacity)
{
    void **bigger = realloc(*list, capacity * sizeof(*bigger));

    if (!bigger)
        longjmp(p->give_up, NO_MEMORY);
    *list = bigger;
}

static void *piece_allocate(size_t size)
{
    struct parsing *p = parsing;
    void *piece;

    if (!p)
        return malloc(size);
    if (p->count == p->most)
        longjmp(p->give_up, TOO_LARGE);
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 64;

        list_grow(p, &p->pieces, capacity);
        list_grow(p, &p->released, capacity);
        p->capacity = capacity;
    }
    piece = malloc(size);
    if (!piece)
        longjmp(p->give_up, NO_MEMORY);
    p->pieces[p->count++] = piece;
    return piece;
}

static void piece_free(void *piece)
{
    struct parsing *p = parsing;

    if (p)
        p->released[p->released_count++] = piece;
    else
        free(piece);
}

static __attribute__((constructor)) void parsed_json_prepare(void)
{
    json_set_alloc_funcs(piece_allocate, piece_free);
}

static void pieces_free(void **pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pieces[i]);
}

static void error_set(json_error_t *error, const char *text, enum json_error_code code)
{
    if (!error)
        return;
    memset(error, 0, sizeof(*error));
    snprintf(error->text, sizeof(error->text), "%s", text);
    error->text[sizeof(error->text) - 1] = (char)code; /* as json_error_code() */
}

static json_t *text_parse(struct parsing *p, const char *text, size_t size, size_t flags,
                          json_error_t *error)
{
    json_t *value = NULL;
    int reason;

    parsing = p;
    reason = setjmp(p->give_up);
    if (reason == 0) {
        value = json_loadb(text, size, flags, error);
        parsing = NULL;
        pieces_free(p->released, p->released_count);
    } else {
        parsing = NULL;
        pieces_free(p->pieces, p->count);
        if (reason == NO_MEMORY)
            error_set(error, "out of memory", json_error_out_of_memory);
        else
            error_set(error, "it has too many values", json_error_unknown);
    }
    free(p->pieces);
    free(p->released);
    return value;
}

json_t *parsed_json(const char *text, size_t size, size_t flags, json_error_t *error)
{
    struct parsing p = {.most = SIZE_MAX};

    return text_parse(&p, text, size, flags, error);
}

json_t *answered_json(const char *text, size_t size, json_error_t *error)
{
    struct parsing p = {.most = ANSWERED_JSON_PIECES};

    return text_parse(&p, text, size, JSON_REJECT_DUPLICATES, error);
}

json_t *reported_json(const char *text, size_t size, json_error_t *error)
{
    struct parsing p = {.most = REPORTED_JSON_PIECES};

    if (size <= REPORTED_JSON_BYTES)
        return text_parse(&p, text, size, JSON_REJECT_DUPLICATES, error);
    error_set(error, "it is too long", json_error_unknown);
    return NULL;
}

json_t *stranger_json(const char *text, size_t size)
{
    struct parsing p = {.most = STRANGER_JSON_PIECES};

    return text_parse(&p, text, size, JSON_REJECT_DUPLICATES, NULL);
}
