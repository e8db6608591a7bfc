/* SPDX-License-Identifier: MIT */
/*
 * top_view.h: what the user has chosen by keys: order, folds, the row under the cursor, whether a
 * job shall be ended. Knows no terminal.
 */
#ifndef LAUNCHER_TOOLS_TOP_TOP_VIEW_H
#define LAUNCHER_TOOLS_TOP_TOP_VIEW_H

#include "launcher/tools/top/top_rows.h"

/* A key is a character, or one of these. */
enum top_key {
    TOP_KEY_NONE = 0,
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_REDRAW,
};

enum top_action {
    TOP_DRAW,    /* the view may have changed */
    TOP_REPAINT, /* all of the terminal shall be written again */
    TOP_FOLD,    /* the rows must be made anew */
    TOP_KILL,    /* the job view->kill must be ended */
    TOP_QUIT,
};

enum top_mode { TOP_MODE_ROWS, TOP_MODE_HELP, TOP_MODE_KILL };

struct top_view {
    struct top_choice choice;
    enum top_mode mode;
    size_t cursor, first; /* rows: the chosen one, the uppermost that is seen */
    size_t left;          /* columns that are off to the left */
    char place[512];      /* what the chosen row is; "": none is chosen yet */
    char kill[256];       /* for TOP_MODE_KILL: the job's id */
    char message[512];    /* until the next key; or "" */
};

/* `page`: rows that are seen at a time. */
enum top_action top_view_key(struct top_view *v, int key, const struct top_rows *rows, size_t page);

/* The rows have been made anew: the cursor stays on what it was on. */
void top_view_settle(struct top_view *v, const struct top_rows *rows, size_t page);

#endif
