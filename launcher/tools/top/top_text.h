/* SPDX-License-Identifier: MIT */
/* top_text.h: a row of the view as a line of text, in columns that keep their place. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_TEXT_H
#define LAUNCHER_TOOLS_TOP_TOP_TEXT_H

#include "launcher/tools/top/top_rows.h"

enum { TOP_TEXT = 1024 };

/* How wide the columns are whose width depends on what is in them. */
struct top_widths {
    int host, lead; /* lead: of the columns before the numbers */
    int cores;      /* 0: no rank is bound, and there is no such column */
    bool links[TOP_LINK_KINDS];
};
void top_widths_find(struct top_widths *out, const struct top_rows *r);

/* What the texts need to know of the view. */
struct top_moment {
    int64_t now_ns;    /* clock_ns() */
    const char *clock; /* "13:05:12" */
    int every_s;
    const struct top_choice *choice;
};

/* "13:05:12, every 1 s: 4 of 4 hosts, 1 job, 8 ranks (2 wait)" */
void top_text_head(char out[TOP_TEXT], const struct top_rows *r, const struct top_moment *m);

/* No control character is in it, whatever hosts and ranks have said. */
void top_text_row(char out[TOP_TEXT], const struct top_row *row, const struct top_widths *w,
                  const struct top_moment *m);

#endif
