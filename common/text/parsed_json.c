/* SPDX-License-Identifier: MIT */
#include "common/text/parsed_json.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory that jansson has taken for a text. */
struct parsing {
    void **pieces;
    size_t count, capacity;
    jmp_buf give_up;
};

/* What this thread parses; NULL: nothing. */
static _Thread_local struct parsing *parsing;

static void *piece_allocate(size_t size)
{
    struct parsing *p = parsing;
    void *piece;

    if (!p)
        return malloc(size);
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 64;
        void **bigger = realloc(p->pieces, capacity * sizeof(*bigger));

        if (!bigger)
            longjmp(p->give_up, 1);
        p->pieces = bigger;
        p->capacity = capacity;
    }
    piece = malloc(size);
    if (!piece)
        longjmp(p->give_up, 1);
    p->pieces[p->count++] = piece;
    return piece;
}

/* While a text is parsed, most of what is freed is young. */
static void piece_free(void *piece)
{
    struct parsing *p = parsing;

    for (size_t i = p ? p->count : 0; i > 0; i--) {
        if (p->pieces[i - 1] == piece) {
            p->pieces[i - 1] = p->pieces[--p->count];
            break;
        }
    }
    free(piece);
}

static __attribute__((constructor)) void parsed_json_prepare(void)
{
    json_set_alloc_funcs(piece_allocate, piece_free);
}

static json_t *parsing_give_up(struct parsing *p, json_error_t *error)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->pieces[i]);
    if (error) {
        memset(error, 0, sizeof(*error));
        snprintf(error->text, sizeof(error->text), "out of memory");
        error->text[sizeof(error->text) - 1] = json_error_out_of_memory; /* as json_error_code() */
    }
    return NULL;
}

json_t *parsed_json(const char *text, size_t size, size_t flags, json_error_t *error)
{
    struct parsing p = {0};
    json_t *value;

    parsing = &p;
    if (setjmp(p.give_up) == 0) {
        value = json_loadb(text, size, flags, error);
        parsing = NULL;
    } else {
        parsing = NULL;
        value = parsing_give_up(&p, error);
    }
    free(p.pieces);
    return value;
}
