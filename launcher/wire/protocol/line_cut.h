/* SPDX-License-Identifier: MIT */
/*
 * line_cut.h: cuts what one rank writes to a stream into lines, for line_fold.h. The end of a line
 * that has not come is waited for as long as a line is held there; then its beginning is written,
 * and the rest when it comes. Where carriage returns overwrite a line (a progress bar), its text is
 * the last state; while the line goes on, the last state is a line once a moment.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_LINE_CUT_H
#define LAUNCHER_WIRE_PROTOCOL_LINE_CUT_H

#include "launcher/wire/protocol/line_fold.h"

/* Begins as {0}. */
struct line_cut {
    char *held; /* the beginning of a line */
    size_t size;
    int64_t since_ms;    /* when its first byte came, or its last state was given out */
    bool is_overwritten; /* a state of this line was given out */
    bool is_torn;        /* a piece of this line was given out: the rest are pieces too */
};

void line_cut_add(struct line_cut *c, struct line_fold *f, int rank, const char *bytes, size_t size,
                  int64_t now_ms);
/* Gives out what has been held for `hold_ms`. */
void line_cut_tick(struct line_cut *c, struct line_fold *f, int rank, int hold_ms, int64_t now_ms);
/* Gives out all, and frees it. */
void line_cut_end(struct line_cut *c, struct line_fold *f, int rank, int64_t now_ms);

#endif
