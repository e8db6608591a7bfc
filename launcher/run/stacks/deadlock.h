/* SPDX-License-Identifier: MIT */
/* deadlock.h: whether ranks wait for each other in a circle, by what their runtimes say. */
#ifndef LAUNCHER_RUN_STACKS_DEADLOCK_H
#define LAUNCHER_RUN_STACKS_DEADLOCK_H

#include <jansson.h>
#include <stddef.h>

struct deadlock_rank {
    long long rank;
    const json_t *waits; /* as in the ANSWER of doc/protocol.md, unchecked; or NULL */
};

/* Finds ranks each of which waits for the next, and the last for the first. `ranks` are sorted, and
 * `circle` has room for `count` of their indices. Returns how many are in the circle, 0 if there is
 * none. A rank that waits in several calls at once is in none: one of its threads may help the
 * others. */
size_t deadlock_find(const struct deadlock_rank *ranks, size_t count, size_t *circle);

#endif
