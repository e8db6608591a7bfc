/* SPDX-License-Identifier: MIT */
/* wiring_svg.h: a wiring as SVG: the hosts in a circle, a line for each link. */
#ifndef LAUNCHER_COMMANDS_DRAW_WIRING_SVG_H
#define LAUNCHER_COMMANDS_DRAW_WIRING_SVG_H

#include "launcher/commands/draw/wiring_picture.h"

#include <stdio.h>

void wiring_svg_draw(const struct wiring_picture *p, FILE *to);

#endif
