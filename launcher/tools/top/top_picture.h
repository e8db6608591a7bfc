/* SPDX-License-Identifier: MIT */
/* top_picture.h: all lines that the terminal should show; needs no terminal. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_PICTURE_H
#define LAUNCHER_TOOLS_TOP_TOP_PICTURE_H

#include "launcher/tools/top/top_text.h"
#include "launcher/tools/top/top_view.h"

enum top_style {
    TOP_STYLE_PLAIN,
    TOP_STYLE_HEAD,  /* the first and the last line */
    TOP_STYLE_TITLE, /* columns' titles */
    TOP_STYLE_JOB,
    TOP_STYLE_BAD, /* a host that has failed, ranks that wait */
    TOP_STYLE_CURSOR,
};

struct top_picture {
    struct top_picture_line {
        enum top_style style;
        char text[TOP_TEXT];
    } * lines;
    size_t height;
};

/* Makes room for that many lines; what was there is gone. ML_ERR_MEMORY. */
int top_picture_resize(struct top_picture *p, size_t height, struct fault *why);
void top_picture_clear(struct top_picture *p);

/* Rows that a picture of that height shows at a time. */
size_t top_picture_page(size_t height);

void top_picture_draw(struct top_picture *p, const struct top_view *v, const struct top_rows *rows,
                      const struct top_moment *m);

#endif
