/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/line_cut.h"

#include <stdlib.h>
#include <string.h>

enum { CUT_MAX = 16 << 10 /* bytes of a line that are held; a longer one is not folded */ };

static void piece_give(struct line_cut *c, struct line_fold *f, int rank, const char *bytes,
                       size_t size, int64_t now_ms)
{
    if (size)
        line_fold_piece(f, rank, bytes, size, 0, 0, now_ms);
    c->is_torn = size ? bytes[size - 1] != '\n' : c->is_torn;
}

static void held_give(struct line_cut *c, struct line_fold *f, int rank, int64_t now_ms)
{
    piece_give(c, f, rank, c->held, c->size, now_ms);
    c->size = 0;
}

/* A whole line, without the states that it has overwritten. */
static void line_give(struct line_fold *f, int rank, const char *line, size_t size, int64_t now_ms)
{
    const struct line_range one = {(uint32_t)rank, (uint32_t)rank};
    const struct line_ranks ranks = {&one, 1};
    size_t end = size >= 2 && line[size - 2] == '\r' ? size - 2 : size - 1; /* "\r\n" ends it too */
    const char *last = memrchr(line, '\r', end);
    size_t from = last ? (size_t)(last - line) + 1 : 0;

    line_fold_add(f, &ranks, line + from, size - from, 0, 0, now_ms);
}

/* False: it is too long, or there is no memory. */
static bool line_hold(struct line_cut *c, const char *bytes, size_t size, int64_t now_ms)
{
    if (c->size + size > CUT_MAX)
        return false;
    if (!c->held)
        c->held = malloc(CUT_MAX);
    if (!c->held)
        return false;
    if (c->size == 0)
        c->since_ms = now_ms;
    memcpy(c->held + c->size, bytes, size);
    c->size += size;
    return true;
}

void line_cut_add(struct line_cut *c, struct line_fold *f, int rank, const char *bytes, size_t size,
                  int64_t now_ms)
{
    const char *end = bytes + size, *next;

    for (; bytes < end; bytes = next) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t take;

        next = newline ? newline + 1 : end;
        take = (size_t)(next - bytes);
        if (newline && !c->is_torn && c->size == 0) {
            line_give(f, rank, bytes, take, now_ms);
        } else if (!c->is_torn && line_hold(c, bytes, take, now_ms)) {
            if (newline) {
                line_give(f, rank, c->held, c->size, now_ms);
                c->size = 0;
                c->is_overwritten = false;
            }
        } else {
            held_give(c, f, rank, now_ms);
            piece_give(c, f, rank, bytes, take, now_ms);
        }
    }
}

/* The last state of the first `size` bytes, as a line that a carriage return ends. */
static void state_give(struct line_cut *c, struct line_fold *f, int rank, size_t size,
                       int64_t now_ms)
{
    const struct line_range one = {(uint32_t)rank, (uint32_t)rank};
    const struct line_ranks ranks = {&one, 1};
    const char *before = memrchr(c->held, '\r', size - 1);
    size_t from = before ? (size_t)(before - c->held) + 1 : 0;

    c->is_overwritten = true;
    if (size - from > 1)
        line_fold_add(f, &ranks, c->held + from, size - from, 0, 0, now_ms);
    c->size -= size;
    memmove(c->held, c->held + size, c->size);
    c->since_ms = now_ms;
}

void line_cut_tick(struct line_cut *c, struct line_fold *f, int rank, int hold_ms, int64_t now_ms)
{
    const char *last;

    if (c->size == 0 || now_ms - c->since_ms < hold_ms)
        return;
    last = memrchr(c->held, '\r', c->size);
    if (last && last > c->held) {
        state_give(c, f, rank, (size_t)(last - c->held) + 1, now_ms);
    } else if ((last || c->is_overwritten) && c->size < CUT_MAX) {
        c->held[c->size++] = '\r'; /* the state that is to be seen now */
        state_give(c, f, rank, c->size, now_ms);
    } else {
        held_give(c, f, rank, now_ms);
    }
}

void line_cut_end(struct line_cut *c, struct line_fold *f, int rank, int64_t now_ms)
{
    const char *last = c->size ? memrchr(c->held, '\r', c->size) : NULL;

    if (last)
        state_give(c, f, rank, (size_t)(last - c->held) + 1, now_ms);
    held_give(c, f, rank, now_ms);
    free(c->held);
    *c = (struct line_cut){0};
}
