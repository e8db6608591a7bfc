/* SPDX-License-Identifier: MIT */
/* top_screen_none.c: instead of top_screen.c in a build without ncurses. */
#include "launcher/tools/top/top_screen.h"

int top_screen_open(struct top_screen **out, struct fault *why)
{
    (void)out;
    return fault_set(why, ML_ERR_SYSTEM,
                     "this mlaunch was built without ncurses, so that it has no live view: mlaunch "
                     "top --batch writes text, or install libncurses-dev and build it again");
}

void top_screen_close(struct top_screen *s)
{
    (void)s;
}

size_t top_screen_height(const struct top_screen *s)
{
    (void)s;
    return 1;
}

void top_screen_draw(struct top_screen *s, const struct top_picture *p, bool is_anew)
{
    (void)s, (void)p, (void)is_anew;
}

int top_screen_key(struct top_screen *s)
{
    (void)s;
    return TOP_KEY_NONE;
}

void top_screen_resize(struct top_screen *s)
{
    (void)s;
}
