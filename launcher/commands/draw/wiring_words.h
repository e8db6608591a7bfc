/* SPDX-License-Identifier: MIT */
/* wiring_words.h: what a picture of a wiring shows, in words. */
#ifndef LAUNCHER_COMMANDS_DRAW_WIRING_WORDS_H
#define LAUNCHER_COMMANDS_DRAW_WIRING_WORDS_H

#include "launcher/commands/draw/wiring_picture.h"

/* Prints to stdout which cables a full mesh lacks, in which order the hosts form a ring, if they do
 * and are no full mesh, and which links are slow, lead one way or carry nothing. */
void wiring_words_print(const struct wiring_picture *p);

/* Finds an order in which each host is joined to the next, and the last to the first. False: there
 * is none, or the search was given up, which happens only with many hosts and cables. */
bool wiring_words_ring(const struct wiring_picture *p, int *order);

#endif
