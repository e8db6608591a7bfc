/* SPDX-License-Identifier: MIT */
/* top_screen.h: a terminal that pictures are drawn on, by ncurses; or, in a build without it, a
 * sentence that says so. There is one at a time. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_SCREEN_H
#define LAUNCHER_TOOLS_TOP_TOP_SCREEN_H

#include "launcher/tools/top/top_picture.h"

struct top_screen;

/* Takes over the terminal of stdin and stdout. ML_ERR_SYSTEM: it cannot be used. */
int top_screen_open(struct top_screen **out, struct fault *why);
void top_screen_close(struct top_screen *s); /* the terminal is as it was; takes NULL */

size_t top_screen_height(const struct top_screen *s);

/* Writes to the terminal what has changed since the last picture; with `is_anew` everything. */
void top_screen_draw(struct top_screen *s, const struct top_picture *p, bool is_anew);

/* The next key that has been typed, TOP_KEY_NONE if there is no more. Does not wait. */
int top_screen_key(struct top_screen *s);

/* The terminal's size has changed. */
void top_screen_resize(struct top_screen *s);

#endif
