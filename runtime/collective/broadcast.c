/* SPDX-License-Identifier: MIT */
/*
 * broadcast.c: short messages go down a binomial tree. Long ones go in two steps per chunk: the
 * root sends every other rank its share of the chunk, and these exchange their shares, so that the
 * root sends the message once instead of log2(size) times. M. Barnett, R. Littlefield, D. Payne, R.
 * van de Geijn, "Global combine algorithms for 2-D meshes with wormhole routing", 1993; Thakur et
 * al. 2005, §4.3. With many ranks the chunks go along a chain instead, in which no rank has more
 * than two peers.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/leaders.h"
#include "runtime/steps/steps.h"

/* Ranks are counted from the root. A rank that has the message sends it to those 2^k behind it, the
 * farthest first because it has the largest subtree. All sends of one rank are started at once. */
static int broadcast_binomial(struct group *g, void *buf, size_t size, int root, struct fault *why)
{
    int n = g->size, me = (g->rank - root + n) % n, bit = 1, count = 0, rc;
    struct pipeline p;

    rc = pipeline_open(&p, g, 32, NULL, 0, why);
    if (rc)
        return rc;
    while (bit < n && !(me & bit))
        bit *= 2;
    if (me) {
        p.t[0] = recv_from((me - bit + root) % n, buf, size);
        rc = message_op_run(g, p.t, 1, why);
    }
    for (bit /= 2; bit; bit /= 2)
        if (me + bit < n)
            p.t[count++] = send_to((me + bit + root) % n, buf, size);
    return rc || !count ? rc : message_op_run(g, p.t, count, why);
}

/* The i-th receiver, from 0, is rank root + 1 + i. */
static int receiver_rank(const struct group *g, int root, int i)
{
    return (root + 1 + i) % g->size;
}

/* The root's transfers for one chunk of every receiver's block. Returns how many. */
static int scatter_send(struct group *g, const struct blocks *b, char *buf, int root, size_t chunk,
                        struct message_op *t)
{
    for (int i = 0; i < g->size - 1; i++) {
        struct piece p = blocks_chunk(b, i, chunk);

        t[i] = send_to(receiver_rank(g, root, i), buffer_at(buf, p.offset), p.size);
    }
    return g->size - 1;
}

/* A receiver's transfers: the root sends it a chunk of its own block; PIPELINE_DEPTH steps later
 * that chunk has arrived and is exchanged for the others' chunks. Returns how many. */
static int scatter_receive(struct group *g, const struct blocks *b, char *buf, int root,
                           size_t step, struct message_op *t)
{
    int me = (g->rank - root - 1 + g->size) % g->size, n = 0;
    struct piece mine = blocks_chunk(b, me, step);

    if (step < b->chunks)
        t[n++] = recv_from(root, buffer_at(buf, mine.offset), mine.size);
    if (step < PIPELINE_DEPTH)
        return n;
    mine = blocks_chunk(b, me, step - PIPELINE_DEPTH);
    for (int j = 1; j < g->size - 1; j++) {
        int before = (me - j + g->size - 1) % (g->size - 1), behind = (me + j) % (g->size - 1);
        struct piece theirs = blocks_chunk(b, behind, step - PIPELINE_DEPTH);

        t[n++] = send_to(receiver_rank(g, root, before), buffer_at(buf, mine.offset), mine.size);
        t[n++] =
            recv_from(receiver_rank(g, root, behind), buffer_at(buf, theirs.offset), theirs.size);
    }
    return n;
}

static int broadcast_scatter(struct group *g, char *buf, size_t size, int root, struct fault *why)
{
    struct pipeline p;
    struct blocks b;
    size_t steps;
    int rc = pipeline_open(&p, g, 2 * g->size, NULL, 0, why);

    blocks_cut(&b, g, size, g->size - 1);
    steps = b.chunks + (g->rank == root ? 0 : PIPELINE_DEPTH);
    for (size_t step = 0; !rc && step < steps; step++) {
        int n = g->rank == root ? scatter_send(g, &b, buf, root, step, p.t)
                                : scatter_receive(g, &b, buf, root, step, p.t);

        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* --- ring --------------------------------------------------------------------------------------
 * Chunks pass from the root around the ring to the rank before it (Worringen 2003, as in reduce.c).
 */

static int broadcast_ring(struct group *g, char *buf, size_t size, int root, struct fault *why)
{
    const struct team m = team_ring(g);
    int before = team_rank(&m, team_after(&m, -1)), next = team_rank(&m, team_after(&m, 1));
    bool is_root = g->rank == root, is_last = next == root;
    size_t lag = is_root ? 0 : PIPELINE_DEPTH, chunks;
    struct pipeline p;
    struct blocks b;
    int rc = pipeline_open(&p, g, 2, NULL, 0, why);

    blocks_cut(&b, g, size, g->size);
    chunks = size ? (size - 1) / b.chunk + 1 : 1;
    for (size_t step = 0; !rc && step < chunks + (is_last ? 0 : lag); step++) {
        size_t done = (step - lag) * b.chunk, offset = step * b.chunk;
        int n = 0;

        if (!is_root && step < chunks)
            p.t[n++] = recv_from(before, buffer_at(buf, offset),
                                 size - offset < b.chunk ? size - offset : b.chunk);
        if (!is_last && step >= lag)
            p.t[n++] =
                send_to(next, buffer_at(buf, done), size - done < b.chunk ? size - done : b.chunk);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* --- leaders -----------------------------------------------------------------------------------
 * The message crosses the network once for each host: it goes down a binomial tree of hosts, chunk
 * by chunk, and each host's head passes what it has to the other ranks there. Only where
 * g->hierarchy is set. M. Bernaschi, G. Iannello, "Collective communication operations:
 * experimental results vs. theory", 1998, have trees that know the nodes.
 */

enum { CHUNK = 1 << 20 /* bytes: still in a second-level cache when they are sent on */ };

/* A rank's place in the tree: its parent, which sends it the message, and its children. */
struct tree_part {
    int from; /* -1: this rank is the root */
    int *to, count;
};

/* Hosts are counted from the root's. The children are the farthest host first, as above, then the
 * other ranks of this host. */
static void tree_part_find(struct tree_part *t, const struct group *g, int root)
{
    const struct hierarchy *h = g->hierarchy;
    int hosts = h->leaders.size, first = h->host_of[root], bit = 1;
    int me = (h->leaders.index - first + hosts) % hosts;

    t->count = 0;
    t->from = leaders_head(h, h->leaders.index, root);
    if (g->rank != t->from)
        return;
    while (bit < hosts && !(me & bit))
        bit *= 2;
    t->from = me ? leaders_head(h, (me - bit + first) % hosts, root) : -1;
    for (bit /= 2; bit; bit /= 2)
        if (me + bit < hosts)
            t->to[t->count++] = leaders_head(h, (me + bit + first) % hosts, root);
    for (int i = 0; i < h->local.size; i++)
        if (i != h->local.index)
            t->to[t->count++] = h->local.ranks[i];
}

/* A chunk that was received is sent on PIPELINE_DEPTH steps later; the root has them all from the
 * start. */
static int broadcast_leaders(struct group *g, char *buf, size_t size, int root, struct fault *why)
{
    size_t chunks = size ? (size - 1) / CHUNK + 1 : 1, lag;
    struct pipeline p;
    struct tree_part part;
    void *work;
    int rc = pipeline_open(&p, g, g->size, &work, (size_t)g->size * sizeof(*part.to), why);

    if (rc)
        return rc;
    part.to = work;
    tree_part_find(&part, g, root);
    lag = part.from < 0 ? 0 : PIPELINE_DEPTH;
    for (size_t step = 0; !rc && step < chunks + (part.count ? lag : 0); step++) {
        size_t offset = step * CHUNK, left = size - offset;
        int n = 0;

        if (part.from >= 0 && step < chunks)
            p.t[n++] = recv_from(part.from, buffer_at(buf, offset), left < CHUNK ? left : CHUNK);
        offset -= lag * CHUNK;
        left = size - offset;
        for (int i = 0; i < part.count && step >= lag; i++)
            p.t[n++] = send_to(part.to[i], buffer_at(buf, offset), left < CHUNK ? left : CHUNK);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

int broadcast_run(struct group *g, void *buf, size_t size, int root, struct fault *why)
{
    enum algorithm algorithm;
    int rc;

    if (g->size == 1)
        return 0;
    rc = algorithm_choose(CALL_BROADCAST, size, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_LEADERS)
        return broadcast_leaders(g, buf, size, root, why);
    if (algorithm == ALGORITHM_RING)
        return broadcast_ring(g, buf, size, root, why);
    if (algorithm == ALGORITHM_SCATTER)
        return broadcast_scatter(g, buf, size, root, why);
    return broadcast_binomial(g, buf, size, root, why);
}
