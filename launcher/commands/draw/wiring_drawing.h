/* SPDX-License-Identifier: MIT */
/* wiring_drawing.h: a file with a picture of a wiring, whose form its name chooses. */
#ifndef LAUNCHER_COMMANDS_DRAW_WIRING_DRAWING_H
#define LAUNCHER_COMMANDS_DRAW_WIRING_DRAWING_H

#include "launcher/commands/draw/wiring_picture.h"

/* Draws into a file whose name ends in .svg or .dot. ML_ERR_ARGUMENT: it ends otherwise.
 * ML_ERR_SYSTEM: nothing has changed. */
int wiring_drawing_write(const struct wiring_picture *p, const char *path, struct fault *why);
/* Checks the same before there is anything to draw. */
int wiring_drawing_check(const char *path, struct fault *why);

#endif
