/* SPDX-License-Identifier: MIT */
/*
 * line_fold.h: lines that several ranks write within a moment become one line with all its ranks
 * (--output fold). The agent folds what its own ranks write, mlaunch what the agents send.
 *
 *     rank 0: a b c        entries in order, each with the ranks that have written it so far
 *     rank 1: a c d   ──▶  a [0,1]   b [0]   c [0,1]   d [1]
 *
 * A rank's next line joins the first entry behind its last one with the same text, or an earlier
 * one that moves to the end, because nobody has written anything behind it, or becomes a new one at
 * the end; so each rank's own order is kept. The first entry is written when no rank can join it
 * any more, or when its time is over. One stream (standard output or error) each; one thread.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_LINE_FOLD_H
#define LAUNCHER_WIRE_PROTOCOL_LINE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    LINE_FOLD_WRITE = 64 << 10, /* bytes that are written at a time, unless a line is longer */
    LINE_FOLD_HELD = 16 << 20,  /* bytes above which the first entries are written early */
};

/* Ranks; ranges of a set rise and do not touch each other. */
struct line_range {
    uint32_t first, last;
};
struct line_ranks {
    const struct line_range *ranges;
    uint32_t count;
};

/* Where the first line ends in what was written: behind its newline, or behind the carriage return
 * of a line's state. */
static inline const char *line_fold_line_end(const char *bytes, const char *end)
{
    const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
    const char *limit = newline ? newline : end;
    const char *state = memchr(bytes, '\r', (size_t)(limit - bytes));

    if (state && state + 1 != newline)
        return state + 1;
    return newline ? newline + 1 : end;
}

struct line_fold;

struct line_fold_events {
    /* Whether that many bytes may be written now. If not, line_fold_write() is called again when it
     * may have changed. */
    bool (*may_write)(size_t size, void *arg);
    /* Lines, or with is_piece any bytes of one rank, that its others of the kind may continue.
     * owner, cost: those of line_fold_add, the latter summed up. */
    void (*write)(const struct line_ranks *ranks, bool is_piece, const char *bytes, size_t size,
                  int owner, uint32_t cost, void *arg);
    void (*end)(int rank, void *arg); /* all that the rank has written has been written */
    void *arg;
};

/* Ranks below `ranks`; none writes yet. NULL: out of memory. */
struct line_fold *line_fold_create(int ranks, int hold_ms, const struct line_fold_events *events);
void line_fold_destroy(struct line_fold *f); /* takes NULL */

/* The rank writes, so others' lines wait for it. Drops nothing; once for each rank. */
void line_fold_begin(struct line_fold *f, int rank);

/* A line with its end, by ranks that have begun. True: it has joined an entry, so `cost` is the
 * caller's to give back. */
bool line_fold_add(struct line_fold *f, const struct line_ranks *ranks, const char *line,
                   size_t size, int owner, uint32_t cost, int64_t now_ms);
/* Bytes of a rank that are no whole line: they are written as they are. */
void line_fold_piece(struct line_fold *f, int rank, const char *bytes, size_t size, int owner,
                     uint32_t cost, int64_t now_ms);
/* The rank writes no more: `end` is called now, or when its last entry has been written. */
void line_fold_end(struct line_fold *f, int rank);

/* Writes what is due, or without a wait up to the last entry of this rank (-1: all), which holds
 * also for later calls. Returns in how many ms the next entry is due, -1: none is. */
int line_fold_write(struct line_fold *f, int64_t now_ms);
void line_fold_hurry(struct line_fold *f, int rank);

bool line_fold_has(const struct line_fold *f, int rank); /* something of it has to be written */
size_t line_fold_held(const struct line_fold *f);        /* bytes */

#endif
