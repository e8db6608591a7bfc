/* SPDX-License-Identifier: MIT */
/* wiring_dot.h: a wiring as a graph for Graphviz (dot, neato). */
#ifndef LAUNCHER_COMMANDS_DRAW_WIRING_DOT_H
#define LAUNCHER_COMMANDS_DRAW_WIRING_DOT_H

#include "launcher/commands/draw/wiring_picture.h"

#include <stdio.h>

void wiring_dot_draw(const struct wiring_picture *p, FILE *to);

#endif
