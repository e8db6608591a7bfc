/* SPDX-License-Identifier: MIT */
/* nearest.h: which known word was meant by a mistyped one. */
#ifndef LAUNCHER_TEXT_NEAREST_H
#define LAUNCHER_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Edits (insert, drop, replace, swap two neighbours) that lead from one word to the other; words
 * are compared without regard to case, and longer ones than 63 bytes by their beginnings. */
int nearest_distance(const char *a, const char *b);

/* Whether the distance is small enough for a slip of the finger. */
bool nearest_is_slip(const char *typed, const char *known);

/* Collects the nearest of the words that it is shown: start with best NULL. */
struct nearest {
    const char *typed;
    const char *best;
    int distance;
};
void nearest_offer(struct nearest *n, const char *known);

/* The nearest of a NULL-terminated array; NULL if it is empty. */
const char *nearest_word(const char *typed, const char *const *known);

#endif
