/* SPDX-License-Identifier: MIT */
/* algorithm_table.h: which algorithm a collective call uses. */
#ifndef RUNTIME_STEPS_ALGORITHM_TABLE_H
#define RUNTIME_STEPS_ALGORITHM_TABLE_H

#include "runtime/group/group.h"

enum algorithm {
    ALGORITHM_BINOMIAL,      /* a tree */
    ALGORITHM_BRUCK,         /* log2 rounds of growing messages */
    ALGORITHM_DIRECT,        /* everyone with everyone, chunk by chunk */
    ALGORITHM_DOUBLING,      /* log2 rounds of the whole vector */
    ALGORITHM_DISSEMINATION, /* log2 rounds of a word */
    ALGORITHM_FLAT,          /* everyone with everyone at once, whole blocks */
    ALGORITHM_HIERARCHICAL, /* on each host, between the ranks of a place on all hosts, on each host */
    ALGORITHM_LEADERS,      /* on each host, between one rank of each, on each host */
    ALGORITHM_RING,         /* neighbours only */
    ALGORITHM_SCATTER,      /* a share each, then everyone with everyone */
    ALGORITHM_SHARED,       /* in shared memory: everyone reduces its piece, then takes all */
    ALGORITHM_SHARED_FLAT, /* in shared memory: everyone reduces everything */
    ALGORITHMS,
};

/* By call, bytes (the whole vector's; a share's for all_gather and reduce_scatter) and what g is:
 * its ranks, what lies between them, and how they are spread over hosts; all of them are the same on every rank.
 * MLAUNCH_ALGO="all_reduce:ring,broadcast:binomial" overrides, where g has what the algorithm needs;
 * a name in it that doesn't exist is ML_ERR_ARGUMENT with a sentence, here and from
 * algorithm_read. */
int algorithm_choose(enum call_kind kind, size_t bytes, const struct group *g, enum algorithm *out,
                     struct fault *why);

/* Reads MLAUNCH_ALGO, while no group is there: for ml_init, so that a slip is said at once, and who leaves the job and
 * comes again may choose anew (bench --tune). */
int algorithm_read(struct fault *why);

#endif
