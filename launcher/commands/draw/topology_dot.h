/* SPDX-License-Identifier: MIT */
/* topology_dot.h: a wiring as a graph for Graphviz (dot, neato). */
#ifndef LAUNCHER_COMMANDS_DRAW_TOPOLOGY_DOT_H
#define LAUNCHER_COMMANDS_DRAW_TOPOLOGY_DOT_H

#include "launcher/commands/draw/topology_picture.h"

#include <stdio.h>

void topology_dot_draw(const struct topology_picture *p, FILE *to);

#endif
