/* SPDX-License-Identifier: MIT */
/* all_reduce.c: chooses the algorithm, and has the short ones. */
#include "runtime/collective/all_reduce.h"

#include "runtime/kernel/combiner.h"
#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/leaders.h"
#include "runtime/steps/reduce_chain.h"
#include "runtime/steps/reduce_flat.h"
#include "runtime/transport/shm_coll.h"

#include <string.h>

/* --- flat --------------------------------------------------------------------------------------
 * Two rounds, whatever the number of ranks: every rank receives its block from all others and
 * reduces it, then all exchange their results. The fewest bytes, as all_reduce_direct.c has, and
 * the fewest rounds; for vectors that fit in a cache, with as many messages at once as there are
 * ranks. Longer ones, which an operator that is not commutative may have, go in segments.
 */

enum { FLAT_SEGMENT = 4 << 20 /* bytes */ };

static int all_reduce_flat(struct group *g, const void *in, void *out, size_t size,
                           struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    size_t segment = blocks_part(g, FLAT_SEGMENT), offset = 0;
    struct blocks b;
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut(&b, g, size < segment ? size : segment, g->size);
    rc = reduce_flat_open(&p, g, &b, &work, why);
    do { /* once at least, as in all_reduce_hierarchical.c */
        size_t part = size - offset < segment ? size - offset : segment, mine;

        blocks_cut(&b, g, part, g->size);
        mine = offset + blocks_block(&b, g->rank).offset;
        if (!rc)
            rc = reduce_flat_run(&p, &all, &b, buffer_at(in, offset), buffer_at(out, mine), work,
                                 why);
        if (!rc)
            rc = reduce_flat_share(&p, &all, &b, buffer_at(out, offset), why);
        offset += part;
    } while (!rc && offset < size);
    return rc;
}

/* --- chain -------------------------------------------------------------------------------------
 * The last rank of the chain has the result, and all get it from there.
 */

static int all_reduce_chained(struct group *g, const void *in, void *out, size_t size,
                              struct fault *why)
{
    struct reduce_chain c = reduce_chain_up(g, 0, in, out);
    const char *name = g->words.algorithm;
    struct pipeline p;
    int rc = pipeline_open(&p, g, 2, NULL, 0, why);

    if (!rc)
        rc = reduce_chain_run(&c, &p, size, why);
    if (!rc)
        rc = broadcast_run(g, out, size, g->size - 1, why);
    g->words.algorithm = name; /* not the broadcast's */
    return rc;
}

/* --- leaders -----------------------------------------------------------------------------------
 * The ranks of a host send their vectors to its leader, the leaders run the doubling and hand out
 * the result. For short vectors, whose messages between hosts cost more than their bytes. Only
 * where g->hierarchy is set. Thakur et al. 2005 for the doubling; H. Zhu et al., "Hierarchical
 * Collectives in MPICH2", 2009, for one rank per node.
 */

static int all_reduce_leaders(struct group *g, const void *in, void *out, size_t size,
                              struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.index, -1), rc;
    struct pipeline p;
    void *work;

    rc = pipeline_open(&p, g, h->local.size, &work,
                       (size_t)(h->local.size > 2 ? h->local.size : 2) * size, why);
    if (!rc)
        rc = leaders_reduce(&p, head, in, out, size, work, why);
    if (!rc && g->rank == head)
        rc = all_reduce_doubling_team(g, &h->leaders, out, out, size, work, why);
    return rc ? rc : leaders_spread(&p, head, out, size, why);
}

int all_reduce_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    enum algorithm algorithm;
    int rc;

    if (g->size == 1) {
        if (in != out && size)
            memcpy(out, in, size);
        return 0;
    }
    rc = algorithm_choose(CALL_ALL_REDUCE, size, g, &algorithm, why);
    if (rc)
        return rc;
    if (g->call.combiner && g->shared.coll && g->call.combiner->unit > g->shared.coll->cell_size)
        /* no cell can hold an element */
        algorithm = g->size <= ALGORITHM_FEW       ? ALGORITHM_FLAT
                    : algorithm_is_deterministic() ? ALGORITHM_CHAIN
                                                   : ALGORITHM_DOUBLING;
    switch (algorithm) {
    case ALGORITHM_CHAIN:
        return all_reduce_chained(g, in, out, size, why);
    case ALGORITHM_DOUBLING:
        return all_reduce_doubling(g, in, out, size, why);
    case ALGORITHM_FLAT:
        return all_reduce_flat(g, in, out, size, why);
    case ALGORITHM_HIERARCHICAL:
        return all_reduce_hierarchical(g, in, out, size, why);
    case ALGORITHM_LEADERS:
        return all_reduce_leaders(g, in, out, size, why);
    case ALGORITHM_RING:
        return all_reduce_ring(g, in, out, size, why);
    case ALGORITHM_SHARED:
        return all_reduce_shared(g, in, out, size, why);
    case ALGORITHM_SHARED_FLAT:
        return all_reduce_shared_flat(g, in, out, size, why);
    default:
        return all_reduce_direct(g, in, out, size, why);
    }
}
