/* SPDX-License-Identifier: MIT */
/* topology_svg.h: a wiring as SVG: the hosts in a circle, a line for each link. */
#ifndef LAUNCHER_COMMANDS_DRAW_TOPOLOGY_SVG_H
#define LAUNCHER_COMMANDS_DRAW_TOPOLOGY_SVG_H

#include "launcher/commands/draw/topology_picture.h"

#include <stdio.h>

void topology_svg_draw(const struct topology_picture *p, FILE *to);

#endif
