/* SPDX-License-Identifier: MIT */
/*
 * broken_pairs.h: hosts of a running job that do not reach each other, as their ranks say, while
 * mlaunch reaches both; and which of them the job does better without.
 */
#ifndef LAUNCHER_RUN_ELASTIC_BROKEN_PAIRS_H
#define LAUNCHER_RUN_ELASTIC_BROKEN_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

struct broken_pair {
    int rank, peer; /* the first has said that it does not reach the second, */
    int hosts[2];   /* on these */
    int64_t said_ms;
    int64_t generation, membership; /* both are members of that, as it has said */
    char *text;                     /* what it has said */
};
struct broken_pairs { /* begins as zeros */
    struct broken_pair *pairs;
    int count;
};

/* The first word about two hosts is kept. Without memory the pair is left out. */
void broken_pairs_add(struct broken_pairs *b, const struct broken_pair *pair);
void broken_pairs_remove(struct broken_pairs *b, int index);
void broken_pairs_clear(struct broken_pairs *b);
/* Removes those of earlier memberships. */
void broken_pairs_expire(struct broken_pairs *b, int64_t generation, int64_t membership);
bool broken_pairs_is_past(const struct broken_pair *p, int64_t generation, int64_t membership);

/* The host that is in the most pairs; of several that with the fewest ranks, and then the last.
 * `ranks`: how many live, per host. -1: there are no pairs. */
int broken_pairs_choose(const struct broken_pairs *b, const int *ranks, int hosts);

#endif
