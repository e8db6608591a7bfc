/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_tail.h"

#include <stdlib.h>
#include <string.h>

struct tail {
    size_t size;
    char bytes[OUTPUT_TAIL];
};

struct output_tail {
    int ranks;
    struct tail **tails; /* by rank; NULL: it has not written anything, as most never do */
};

struct output_tail *output_tail_create(int ranks)
{
    struct output_tail *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->ranks = ranks;
    t->tails = calloc((size_t)ranks, sizeof(*t->tails));
    if (t->tails)
        return t;
    free(t);
    return NULL;
}

void output_tail_forget(struct output_tail *t)
{
    for (int i = 0; i < t->ranks; i++) {
        free(t->tails[i]);
        t->tails[i] = NULL;
    }
}

void output_tail_destroy(struct output_tail *t)
{
    if (!t)
        return;
    output_tail_forget(t);
    free(t->tails);
    free(t);
}

void output_tail_note(struct output_tail *t, int rank, const char *bytes, size_t size)
{
    struct tail *tail = t->tails[rank];
    size_t keep;

    if (!tail)
        tail = t->tails[rank] = calloc(1, sizeof(*tail));
    if (!tail)
        return; /* the rank's last words will be missing */
    if (size > OUTPUT_TAIL) {
        bytes += size - OUTPUT_TAIL;
        size = OUTPUT_TAIL;
    }
    keep = tail->size < OUTPUT_TAIL - size ? tail->size : OUTPUT_TAIL - size;
    memmove(tail->bytes, tail->bytes + tail->size - keep, keep);
    if (size)
        memcpy(tail->bytes + keep, bytes, size);
    tail->size = keep + size;
}

void output_tail_text(const struct output_tail *t, int rank, char *text, size_t size)
{
    static const struct tail nothing;
    const struct tail *tail = t->tails[rank] ? t->tails[rank] : &nothing;
    size_t take = tail->size < size - 1 ? tail->size : size - 1;
    const char *from = tail->bytes + tail->size - take, *newline;

    if (tail->size == OUTPUT_TAIL || take < tail->size) {
        newline = memchr(from, '\n', take); /* leaves out the first line, which may be cut */
        if (newline && newline + 1 < from + take) {
            take -= (size_t)(newline + 1 - from);
            from = newline + 1;
        }
    }
    memcpy(text, from, take);
    while (take > 0 && text[take - 1] == '\n')
        take--;
    text[take] = '\0';
}
