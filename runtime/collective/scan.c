/* SPDX-License-Identifier: MIT */
/*
 * scan.c: in round k each rank passes what it has reduced so far, of itself and the 2^k - 1 ranks
 * before it, to the rank 2^k after it. After log2(size) rounds every rank has all ranks before it.
 * D. Hillis, G. Steele, "Data Parallel Algorithms", 1986. The exclusive scan is that of what each
 * rank has received from the one before it.
 *
 * The lower ranks are always the left operand.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/reduce_chain.h"

#include <string.h>

/* The scan of the ranks from `first` on, each of which has `mine`. work: room for 2 vectors, in
 * turn, because what is being sent must not change before it has left. */
static int scan_doubling(struct group *g, int first, const void *mine, void *out, size_t size,
                         char *work, struct fault *why)
{
    int rc = 0, round = 0;

    for (int distance = 1; !rc && distance < g->size - first; distance *= 2, round++) {
        int above = g->rank + distance, below = g->rank - distance, n = 0;
        char *next = buffer_at(work, round % 2 ? size : 0);
        struct message_op t[2];

        if (above < g->size)
            t[n++] = send_to(above, mine, size);
        if (below >= first)
            t[n++] = reduce_from(g, below, next, mine, size);
        rc = message_op_run(g, t, n, why);
        if (below >= first)
            mine = next;
    }
    if (!rc && mine != out && size)
        memcpy(out, mine, size);
    return rc;
}

/* The same one by one, for MLAUNCH_DETERMINISTIC: what a chain leaves behind. */
static int scan_chained(struct pipeline *p, int first, const void *mine, void *out, size_t size,
                        struct fault *why)
{
    struct reduce_chain c = reduce_chain_up(p->group, first, mine, out);
    int rc = reduce_chain_run(&c, p, size, why);

    if (!rc && c.before < 0 && mine != out && size)
        memcpy(out, mine, size);
    return rc;
}

static int scan_from(struct pipeline *p, int first, const void *mine, void *out, size_t size,
                     void *work, struct fault *why)
{
    return algorithm_is_deterministic()
               ? scan_chained(p, first, mine, out, size, why)
               : scan_doubling(p->group, first, mine, out, size, work, why);
}

int scan_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct pipeline p;
    void *work;
    int rc = pipeline_open(&p, g, 2, &work, 2 * size, why);

    return rc ? rc : scan_from(&p, 0, in, out, size, work, why);
}

int exclusive_scan_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct pipeline p;
    void *work, *before;
    int rc = pipeline_open(&p, g, 2, &work, 3 * size, why), n = 0;

    if (rc)
        return rc;
    before = buffer_at(work, 2 * size);
    if (g->rank < g->size - 1)
        p.t[n++] = send_to(g->rank + 1, in, size);
    if (g->rank > 0)
        p.t[n++] = recv_from(g->rank - 1, before, size);
    rc = message_op_run(g, p.t, n, why);
    return rc || g->rank == 0 ? rc : scan_from(&p, 1, before, out, size, work, why);
}
