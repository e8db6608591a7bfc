/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_fold.h"

#include "common/text/rank_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 16 /* different ones that are remembered */ };

enum source_state { SOURCE_HELD, SOURCE_PASSED, SOURCE_LEFT_OUT };

/* A rank's standard error. */
struct source {
    enum source_state state;
    char *bytes; /* held back, or those of a text that was written out and is remembered */
    size_t size;
    int same_as; /* SOURCE_LEFT_OUT: the rank that has written the same */
};

struct output_fold {
    int ranks;
    bool is_on;
    struct source *sources; /* by rank */
    int texts[TEXTS_MAX];   /* ranks whose texts are remembered */
    int text_count;
    void (*write)(int rank, const char *bytes, size_t size, void *arg);
    void *arg;
};

struct output_fold *
output_fold_create(int ranks, void (*write)(int rank, const char *bytes, size_t size, void *arg),
                   void *arg)
{
    struct output_fold *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->ranks = ranks;
    f->write = write;
    f->arg = arg;
    f->sources = calloc((size_t)ranks, sizeof(*f->sources));
    if (f->sources)
        return f;
    free(f);
    return NULL;
}

static void texts_forget(struct output_fold *f)
{
    for (int i = 0; i < f->ranks; i++) {
        free(f->sources[i].bytes);
        f->sources[i] = (struct source){0};
    }
    f->text_count = 0;
    f->is_on = false;
}

void output_fold_destroy(struct output_fold *f)
{
    if (!f)
        return;
    texts_forget(f);
    free(f->sources);
    free(f);
}

void output_fold_begin(struct output_fold *f, int failed)
{
    texts_forget(f);
    f->is_on = true;
    if (failed >= 0)
        f->sources[failed].state = SOURCE_PASSED;
}

/* A number in a text: hexadecimal with "0x", else decimal. */
struct number {
    const char *at;
    size_t size;
    bool is_hex;
};

static bool number_take(struct number *n, const char *at, const char *end)
{
    const char *digit = at;

    n->at = at;
    n->is_hex = end - at > 2 && at[0] == '0' && at[1] == 'x';
    if (n->is_hex)
        digit += 2;
    while (digit < end &&
           (n->is_hex ? isxdigit((unsigned char)*digit) : isdigit((unsigned char)*digit)))
        digit++;
    n->size = (size_t)(digit - at);
    return n->size > 0;
}

static bool number_is(const struct number *n, int rank)
{
    size_t value = 0;

    if (n->is_hex || n->size > 9 || (n->size > 1 && n->at[0] == '0'))
        return false;
    for (size_t i = 0; i < n->size; i++)
        value = value * 10 + (size_t)(n->at[i] - '0');
    return value == (size_t)rank;
}

/* Addresses differ from process to process, and each rank may name itself. */
static bool number_is_same(const struct number *a, int rank_a, const struct number *b, int rank_b)
{
    if (a->is_hex && b->is_hex)
        return true;
    if (a->size == b->size && memcmp(a->at, b->at, a->size) == 0)
        return true;
    return number_is(a, rank_a) && number_is(b, rank_b);
}

static bool text_is_same(const struct output_fold *f, int rank_a, int rank_b)
{
    const struct source *a = &f->sources[rank_a], *b = &f->sources[rank_b];
    const char *at_a = a->bytes, *at_b = b->bytes;
    const char *end_a = at_a + a->size, *end_b = at_b + b->size;
    struct number x, y;

    while (at_a < end_a && at_b < end_b) {
        bool is_x = number_take(&x, at_a, end_a), is_y = number_take(&y, at_b, end_b);

        if (is_x != is_y || (is_x && !number_is_same(&x, rank_a, &y, rank_b)) ||
            (!is_x && *at_a != *at_b))
            return false;
        at_a += is_x ? x.size : 1;
        at_b += is_y ? y.size : 1;
    }
    return at_a == end_a && at_b == end_b;
}

static void source_write(struct output_fold *f, int rank)
{
    struct source *s = &f->sources[rank];

    s->state = SOURCE_PASSED;
    if (s->size)
        f->write(rank, s->bytes, s->size, f->arg);
}

static void source_free(struct source *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->size = 0;
}

/* The rank's standard error has ended: leaves its text out if it is known. */
static void source_judge(struct output_fold *f, int rank)
{
    struct source *s = &f->sources[rank];

    for (int i = 0; i < f->text_count && s->size; i++) {
        if (text_is_same(f, f->texts[i], rank)) {
            s->state = SOURCE_LEFT_OUT;
            s->same_as = f->texts[i];
            source_free(s);
            return;
        }
    }
    source_write(f, rank);
    if (s->size && f->text_count < TEXTS_MAX)
        f->texts[f->text_count++] = rank;
    else
        source_free(s);
}

bool output_fold_hold(struct output_fold *f, int rank, const char *bytes, size_t size)
{
    struct source *s = &f->sources[rank];

    if (!f->is_on || s->state != SOURCE_HELD)
        return false;
    if (size == 0) {
        source_judge(f, rank);
        return false;
    }
    if (!s->bytes)
        s->bytes = malloc(OUTPUT_FOLD_MAX);
    if (!s->bytes || size > OUTPUT_FOLD_MAX - s->size) {
        source_write(f, rank);
        source_free(s);
        return false;
    }
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return true;
}

void output_fold_release(struct output_fold *f)
{
    for (int i = 0; f->is_on && i < f->ranks; i++) {
        if (f->sources[i].state == SOURCE_HELD) {
            source_write(f, i);
            source_free(&f->sources[i]);
        }
    }
    f->is_on = false;
}

void output_fold_end(struct output_fold *f, void (*say)(const char *ranks, int same_as, void *arg),
                     void *arg)
{
    output_fold_release(f);
    for (int i = 0; i < f->text_count; i++) {
        struct rank_list list = {0};

        for (int rank = 0; rank < f->ranks; rank++) {
            if (f->sources[rank].state == SOURCE_LEFT_OUT &&
                f->sources[rank].same_as == f->texts[i])
                rank_list_add(&list, rank);
        }
        if (list.count)
            say(rank_list_end(&list), f->texts[i], arg);
    }
    texts_forget(f);
}
