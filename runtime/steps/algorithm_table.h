/* SPDX-License-Identifier: MIT */
/* algorithm_table.h: which algorithm a collective call uses. */
#ifndef RUNTIME_STEPS_ALGORITHM_TABLE_H
#define RUNTIME_STEPS_ALGORITHM_TABLE_H

#include "runtime/group/group.h"
#include "runtime/kernel/combiner.h"

enum algorithm {
    ALGORITHM_BINOMIAL,      /* a tree */
    ALGORITHM_BRUCK,         /* log2(ranks) rounds of growing messages */
    ALGORITHM_CHAIN,         /* from rank to rank in their order, chunk by chunk */
    ALGORITHM_DIRECT,        /* all pairs of ranks, chunk by chunk */
    ALGORITHM_DOUBLING,      /* log2(ranks) rounds of the whole vector */
    ALGORITHM_DISSEMINATION, /* log2(ranks) rounds of empty messages */
    ALGORITHM_FLAT,          /* all pairs of ranks at once, whole blocks */
    ALGORITHM_HIERARCHICAL,  /* on each host, between ranks in the same place, on each host again */
    ALGORITHM_LEADERS,       /* on each host, between one rank of each, on each host again */
    ALGORITHM_RING,          /* between neighbours only */
    ALGORITHM_SCATTER,       /* one share for each rank, then all pairs of ranks */
    ALGORITHM_SHARED,      /* shared memory: each rank reduces its piece, then takes the others' */
    ALGORITHM_SHARED_FLAT, /* shared memory: each rank reduces everything */
    ALGORITHMS,
};
enum { ALGORITHM_SUM = 16 };

/* With more ranks than these no algorithm connects all ranks of a group to all, nor all hosts, nor
 * all ranks of a host: a rank pays for each peer that it exchanges messages with. */
enum { ALGORITHM_FEW = 16 };

/* Chooses the algorithm of a call by `bytes` (of the whole vector; of a share for all_gather and
 * reduce_scatter; g->call_rest is added to those of a piece) and by the group: how many ranks it
 * has, what connects them, and how they are spread over hosts. All of these are the same on every
 * rank, so all choose alike. The group keeps its name, for those who ask where the call waits.
 *
 * MLAUNCH_ALGO="all_reduce:doubling@..4096,ring@64K..,broadcast:binomial" overrides the choice
 * where the group has what the algorithm needs; an item without a call is for the call before, and
 * the first item that fits decides. A mistake in it is ML_ERR_ARGUMENT with a sentence, here and
 * from algorithm_read. Any thread. */
int algorithm_choose(enum call_kind kind, size_t bytes, struct group *g, enum algorithm *out,
                     struct fault *why);

/* True if the operands of g's call must meet in the order of ranks: an operator of the program is
 * not commutative. Then algorithm_choose takes the next best algorithm of those that keep it;
 * reduce has a tree of its own. */
static inline bool algorithm_needs_order(const struct group *g)
{
    return __builtin_expect(g->call.combiner != NULL, 0) && !g->call.combiner->with.is_commutative;
}

/* True with MLAUNCH_DETERMINISTIC: each element of a reduction is ((r0 op r1) op r2) op …, by rank
 * in the group, so that its bits depend on nothing else. Then algorithm_choose takes algorithms
 * that reduce so. */
bool algorithm_is_deterministic(void);

/* Reads MLAUNCH_ALGO and MLAUNCH_DETERMINISTIC again. ml_init calls it, while there is no group: so
 * a mistake is reported early, and a program that leaves the job and joins it again may choose anew
 * (bench --tune). */
int algorithm_read(struct fault *why);

/* A sum of ALGORITHM_SUM bytes of what algorithm_read found, all 0 without both. Ranks that differ
 * in it would choose different algorithms, and wait for each other for ever. */
const uint8_t *algorithm_sum(void);

#endif
