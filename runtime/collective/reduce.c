/* SPDX-License-Identifier: MIT */
/*
 * reduce.c: short vectors go up a tree; long ones are reduced by a direct reduce-scatter whose
 * chunks go to the root as soon as they are done (R. Rabenseifner, "A new optimized MPI reduce
 * algorithm", 1997), and with many ranks along a chain.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/leaders.h"
#include "runtime/steps/reduce_chain.h"
#include "runtime/steps/reduce_direct.h"
#include "runtime/steps/steps.h"

#include <string.h>

/* The transfers that bring a chunk of every block to the root. Returns how many. */
static int scatter_bring_chunk(const struct reduce_direct *r, size_t chunk, int root, char *out,
                               struct message_op *t)
{
    const struct group *g = r->group;
    int n = 0;

    if (g->rank != root) {
        size_t size;
        void *sum = reduce_direct_chunk(r, chunk, &size);

        t[n++] = send_to(root, sum, size);
        return n;
    }
    for (int j = 1; j < g->size; j++) {
        struct piece p = blocks_chunk(&r->blocks, rank_after(g, j), chunk);

        t[n++] = recv_from(rank_after(g, j), buffer_at(out, p.offset), p.size);
    }
    return n;
}

static int reduce_by_scatter(struct group *g, const void *in, void *out, size_t size, int root,
                             struct fault *why)
{
    struct reduce_direct r = {.group = g, .in = in, .window = SIZE_MAX};
    size_t lag = reduce_direct_lag(g);
    struct pipeline p;
    void *work;
    int rc;

    blocks_cut(&r.blocks, g, size, g->size);
    if (g->rank != root)
        r.window = reduce_direct_window(g);
    rc = pipeline_open(&p, g, 3 * g->size, &work, g->rank == root ? 0 : r.window * r.blocks.chunk,
                       why);
    if (rc)
        return rc;
    r.sum = g->rank == root ? buffer_at(out, blocks_block(&r.blocks, root).offset) : work;
    for (size_t step = 0; !rc && step < r.blocks.chunks + lag; step++) {
        int n = reduce_direct_step(&r, step, p.t);

        if (step >= lag)
            n += scatter_bring_chunk(&r, step - lag, root, out, p.t + n);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* --- binomial ----------------------------------------------------------------------------------
 * The whole vector goes up a binomial tree in log2(size) steps.
 */

/* Reduces between the ranks of a team. `root` is a place in the team, and places are counted from
 * it. In round k the ranks with bit k set send what they have and are done; the others reduce it.
 * Only the root writes to `out`; the others need `size` bytes at `work`. */
static int reduce_tree(struct group *g, const struct team *m, const void *in, void *out,
                       size_t size, int root, void *work, struct fault *why)
{
    int n = m->size, me = (m->index - root + n) % n, bit, rc = 0;
    const void *mine = in;
    void *sum = me ? work : out;

    for (bit = 1; !rc && bit < n && !(me & bit); bit *= 2) {
        struct message_op take;

        if (me + bit >= n)
            continue;
        take = reduce_from(g, team_rank(m, (me + bit + root) % n), sum, mine, size);
        rc = message_op_run(g, &take, 1, why);
        mine = sum;
    }
    if (!rc && me) {
        struct message_op give = send_to(team_rank(m, (me - bit + root) % n), mine, size);

        rc = message_op_run(g, &give, 1, why);
    }
    return rc;
}

static int reduce_binomial(struct group *g, const void *in, void *out, size_t size, int root,
                           struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    void *work = NULL;
    int rc = g->rank == root ? 0 : steps_scratch(g, &work, size, why);

    return rc ? rc : reduce_tree(g, &all, in, out, size, root, work, why);
}

/* For operators that are not commutative: the tree's root is rank 0, so that neighbours in it are
 * neighbours in the order of ranks, and rank 0 sends the result to the root. */
static int reduce_in_order(struct group *g, const void *in, void *out, size_t size, int root,
                           struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    struct message_op last;
    void *work;
    int rc = steps_scratch(g, &work, size, why);

    if (!rc)
        rc = reduce_tree(g, &all, in, g->rank == root ? out : work, size, 0, work, why);
    if (rc || root == 0 || (g->rank != 0 && g->rank != root))
        return rc;
    last = g->rank == 0 ? send_to(root, work, size) : recv_from(0, out, size);
    return message_op_run(g, &last, 1, why);
}

/* --- ring --------------------------------------------------------------------------------------
 * A chain around the ring that ends at the root.
 */

static int reduce_ring(struct group *g, const void *in, void *out, size_t size, int root,
                       struct fault *why)
{
    const struct team m = team_ring(g);
    int before = team_rank(&m, team_after(&m, -1)), next = team_rank(&m, team_after(&m, 1));
    bool is_root = g->rank == root, is_first = before == root;
    struct reduce_chain c = {is_first ? -1 : before, is_root ? -1 : next, in, out, is_root};
    struct pipeline p;
    void *work;
    int rc =
        pipeline_open(&p, g, 2, &work, is_root || is_first ? 0 : reduce_chain_room(g, size), why);

    if (!is_root)
        c.sums = work;
    return rc ? rc : reduce_chain_run(&c, &p, size, why);
}

/* --- chain -------------------------------------------------------------------------------------
 * The chain of all ranks in their order, whose last one sends the result to the root.
 */

static int reduce_chained(struct group *g, const void *in, void *out, size_t size, int root,
                          struct fault *why)
{
    struct reduce_chain c = reduce_chain_up(g, 0, in, out);
    bool is_root = g->rank == root, is_last = c.next < 0;
    struct message_op bring;
    struct pipeline p;
    void *work;
    int rc = pipeline_open(&p, g, 2, &work,
                           is_root || c.before < 0 ? 0
                           : is_last               ? size
                                                   : reduce_chain_room(g, size),
                           why);

    if (!is_root)
        c.sums = work;
    c.is_whole = is_root || is_last;
    if (!rc)
        rc = reduce_chain_run(&c, &p, size, why);
    if (rc || root == g->size - 1 || !(is_root || is_last))
        return rc;
    bring = is_last ? send_to(root, work, size) : recv_from(g->size - 1, out, size);
    return message_op_run(g, &bring, 1, why);
}

/* --- leaders -----------------------------------------------------------------------------------
 * Each host's head reduces the vectors of its host; then the heads reduce theirs up a binomial tree
 * to the root, which is the head of its own host. So there are as few messages between hosts as
 * possible. For short vectors, and only where g->hierarchy is set.
 */

static int reduce_leaders(struct group *g, const void *in, void *out, size_t size, int root,
                          struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.index, root), rc;
    size_t room = ((size_t)g->size * sizeof(int) + 63) & ~(size_t)63; /* for the heads */
    struct pipeline p;
    struct team heads;
    char *work, *sum;
    void *all;

    /* In order: the heads, what comes from this host's ranks and up the tree, this host's sum. */
    rc = pipeline_open(&p, g, h->local.size, &all, room + (size_t)(h->local.size + 1) * size, why);
    if (rc)
        return rc;
    heads = leaders_team(h, root, all);
    work = buffer_at(all, room);
    sum = g->rank == root ? out : work + (size_t)h->local.size * size;
    rc = leaders_reduce(&p, head, in, sum, size, work, why);
    if (!rc && g->rank == head)
        rc = reduce_tree(g, &heads, sum, out, size, h->host_of[root], work, why);
    return rc;
}

int reduce_run(struct group *g, const void *in, void *out, size_t size, int root, struct fault *why)
{
    enum algorithm algorithm;
    int rc;

    if (g->size == 1) {
        if (in != out && size)
            memcpy(out, in, size);
        return 0;
    }
    rc = algorithm_choose(CALL_REDUCE, size, g, &algorithm, why);
    if (rc)
        return rc;
    switch (algorithm) {
    case ALGORITHM_CHAIN:
        return reduce_chained(g, in, out, size, root, why);
    case ALGORITHM_DIRECT:
        return reduce_by_scatter(g, in, out, size, root, why);
    case ALGORITHM_RING:
        return reduce_ring(g, in, out, size, root, why);
    case ALGORITHM_LEADERS:
        return reduce_leaders(g, in, out, size, root, why);
    default:
        if (algorithm_needs_order(g))
            return reduce_in_order(g, in, out, size, root, why);
        return reduce_binomial(g, in, out, size, root, why);
    }
}
