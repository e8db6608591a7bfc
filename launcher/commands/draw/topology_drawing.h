/* SPDX-License-Identifier: MIT */
/* topology_drawing.h: a file with a picture of a wiring, whose form its name chooses. */
#ifndef LAUNCHER_COMMANDS_DRAW_TOPOLOGY_DRAWING_H
#define LAUNCHER_COMMANDS_DRAW_TOPOLOGY_DRAWING_H

#include "launcher/commands/draw/topology_picture.h"

#include <stdio.h>

/* Draws into a file whose name ends in .svg or .dot. ML_ERR_ARGUMENT: it ends otherwise.
 * ML_ERR_SYSTEM: nothing has changed. */
int topology_drawing_write(const struct topology_picture *p, const char *path, struct fault *why);
/* Checks the same before there is anything to draw. */
int topology_drawing_check(const char *path, struct fault *why);

/* The forms: a graph for Graphviz (dot, neato), and the hosts in a circle with a line for each
 * link. */
void topology_dot_draw(const struct topology_picture *p, FILE *to);
void topology_svg_draw(const struct topology_picture *p, FILE *to);

#endif
