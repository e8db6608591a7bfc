/* SPDX-License-Identifier: MIT */
/* nearest.h: finds the known word that a mistyped one probably stands for. */
#ifndef LAUNCHER_BASE_TEXT_NEAREST_H
#define LAUNCHER_BASE_TEXT_NEAREST_H

#include <stddef.h>

/* Returns the number of edits (insert, drop, replace, swap two neighbours) between two words. Case
 * is ignored, and so is everything after 63 bytes. */
int nearest_distance(const char *a, const char *b);

/* Keeps the nearest of the words offered to it. Start with best NULL. */
struct nearest {
    const char *typed;
    const char *best;
    int distance;
};
void nearest_offer(struct nearest *n, const char *known); /* takes NULL */

/* Returns the nearest of them, if it is near enough for a typing mistake; else NULL, because no
 * suggestion is better than a far-fetched one. */
const char *nearest_slip(const struct nearest *n);

/* The same for a NULL-terminated array. */
const char *nearest_word(const char *typed, const char *const *known);

#endif
