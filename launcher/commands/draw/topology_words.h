/* SPDX-License-Identifier: MIT */
/* topology_words.h: what a picture of a wiring shows, in words. */
#ifndef LAUNCHER_COMMANDS_DRAW_TOPOLOGY_WORDS_H
#define LAUNCHER_COMMANDS_DRAW_TOPOLOGY_WORDS_H

#include "launcher/commands/draw/topology_picture.h"

/* Prints to stdout which cables a full mesh lacks, in which order the hosts form a ring, if they do
 * and are no full mesh, and which links are slow, lead one way or carry nothing. */
void topology_words_print(const struct topology_picture *p);

/* Finds an order in which each host is joined to the next, and the last to the first. False: there
 * is none, or the search was given up, which happens only with many hosts and cables. */
bool topology_words_ring(const struct topology_picture *p, int *order);

#endif
