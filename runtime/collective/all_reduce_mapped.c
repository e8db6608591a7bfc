/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_mapped.c: every member reduces its piece of each chunk, reading the operands where
 * they lie, into its own vector, and copies the other pieces from the others' vectors while they
 * are in a cache. No member writes another one's memory.
 *
 *     round n: reduce my piece of chunk n, post, take the others' of chunk n - 1, wait for all
 *
 * This works in place too: what a member overwrites, its own piece or what it takes, has been read
 * by all who need it. Operands meet in the order of ranks, as everywhere, which gives the same
 * bits.
 */
#include "runtime/collective/all_reduce_mapped.h"

#include "runtime/process/peer_memory_linux.h"
#include "runtime/steps/reduce_order.h"
#include "runtime/steps/steps.h"
#include "runtime/transport/shm_coll.h"

#include <string.h>

enum {
    SIZE_LEAST = 64 << 10, /* bytes; for less, the additional round is not worth it */
    CHUNK =
        128
        << 10, /* bytes of each rank's piece, which a second-level cache holds with its operands */
};

/* --- agreeing ----------------------------------------------------------------------------------
 */

/* Where a member's vectors are; it says so on its line of the board. */
struct offer {
    uint32_t is_made;
    struct alloc_file file;
    struct alloc_place in, out;
};
_Static_assert(sizeof(struct offer) <= SHM_COLL_PAYLOAD, "it goes with the call's first post");

static struct offer offer_make(const void *in, const void *out, size_t size)
{
    struct offer o = {0};

    o.is_made = alloc_find(in, size, &o.file, &o.in) && alloc_find(out, size, &o.file, &o.out);
    return o;
}

static struct offer offer_of(const struct group *g, int rank)
{
    struct offer o;

    memcpy(&o, shm_coll_payload(g->shared.coll, rank), sizeof(o));
    return o;
}

/* Maps all members' vectors. True if that worked. */
static bool mapped_look(struct mapped *m)
{
    struct group *g = m->group;

    if (!g->peers)
        g->peers = peer_memory_open(g->size);
    for (int r = 0; r < g->size && g->peers; r++) {
        struct offer o = offer_of(g, r);

        if (r == g->rank)
            continue;
        m->in[r] = peer_memory_find(g->peers, r, &o.file, &o.in, m->size);
        m->out[r] = peer_memory_find(g->peers, r, &o.file, &o.out, m->size);
        if (!m->in[r] || !m->out[r])
            return false;
    }
    return g->peers;
}

/* Asks all members, in a round, whether they could map the others' vectors. Returns 1 if all could,
 * else 0, which is the same on all of them; or an error. */
static int mapped_agree(struct mapped *m, const void *in, struct fault *why)
{
    struct group *g = m->group;
    uint32_t good;
    void *work;
    int rc = steps_scratch(g, &work, 2 * (size_t)g->size * sizeof(*m->in), why), all = 1;

    if (rc)
        return rc;
    m->in = work;
    m->out = m->in + g->size;
    m->in[g->rank] = in;
    m->out[g->rank] = m->mine;
    good = mapped_look(m);
    rc = shm_coll_tell(g->shared.coll, &good, sizeof(good), why);
    for (int r = 0; r < g->size && !rc; r++) {
        memcpy(&good, shm_coll_payload(g->shared.coll, r), sizeof(good));
        all &= good != 0;
    }
    return rc ? rc : all;
}

int all_reduce_mapped_begin(struct mapped *m, struct group *g, const void *in, void *out,
                            size_t size, void (*give)(const void *context), const void *context,
                            struct fault *why)
{
    struct offer mine;
    int made = 0, rc;

    if (size < SIZE_LEAST) {
        shm_coll_turn(g->shared.coll);
        give(context);
        return shm_coll_begin(g->shared.coll, NULL, 0, why);
    }
    mine = offer_make(in, out, size);
    *m = (struct mapped){.group = g, .mine = out, .size = size};
    shm_coll_turn(g->shared.coll);
    if (!mine.is_made)
        give(context);
    rc = shm_coll_begin(g->shared.coll, &mine, sizeof(mine), why);
    if (rc)
        return rc;
    for (int r = 0; r < g->size; r++)
        made += offer_of(g, r).is_made != 0;
    if (made == 0)
        return 0;
    if (made == g->size)
        rc = mapped_agree(m, in, why);
    if (rc)
        return rc;
    /* Members that have offered their vectors have not filled their cells yet. */
    if (mine.is_made)
        give(context);
    return shm_coll_round(g->shared.coll, why);
}

/* --- reducing ----------------------------------------------------------------------------------
 */

static size_t mapped_chunk_size(const struct mapped *m)
{
    return blocks_part(m->group, CHUNK) * (size_t)m->group->size;
}

/* Returns the offset of chunk `n` in the vector, and cuts it into the ranks' pieces. */
static size_t mapped_cut(const struct mapped *m, size_t n, struct blocks *pieces)
{
    size_t offset = n * mapped_chunk_size(m), left = m->size - offset;

    blocks_cut(pieces, m->group, left < mapped_chunk_size(m) ? left : mapped_chunk_size(m),
               m->group->size);
    return offset;
}

struct views {
    struct operands all;
    const struct mapped *mapped;
    size_t from;
};

static const char *view_find(const struct operands *o, int i, size_t offset)
{
    const struct views *v = (const struct views *)o;

    return v->mapped->in[i] + v->from + offset;
}

/* Reduces this member's piece of chunk `n`. The sum may lie over its own operand. */
static void mapped_reduce(const struct mapped *m, size_t n)
{
    const struct group *g = m->group;
    struct views v = {{view_find, g->size}, m, 0};
    struct blocks pieces;
    struct piece mine;

    v.from = mapped_cut(m, n, &pieces);
    mine = blocks_block(&pieces, g->rank);
    v.from += mine.offset;
    reduce_order_run(&v.all, &g->call, m->mine + v.from, mine.size);
}

/* Copies the others' pieces of chunk `n`, each member in another order, so that they don't all read
 * from one member at once. */
static void mapped_take(const struct mapped *m, size_t n)
{
    const struct group *g = m->group;
    struct blocks pieces;
    size_t offset = mapped_cut(m, n, &pieces);

    for (int j = 1; j < g->size; j++) {
        int from = rank_after(g, j);
        struct piece theirs = blocks_block(&pieces, from);
        size_t begin = offset + theirs.offset;

        if (theirs.size)
            memcpy(m->mine + begin, m->out[from] + begin, theirs.size);
    }
}

int all_reduce_mapped_run(const struct mapped *m, struct fault *why)
{
    struct shm_coll *b = m->group->shared.coll;
    size_t chunks = (m->size - 1) / mapped_chunk_size(m) + 1;
    int rc = 0;

    for (size_t n = 0; n < chunks && !rc; n++) {
        mapped_reduce(m, n);
        shm_coll_post(b);
        if (n)
            mapped_take(m, n - 1);
        rc = shm_coll_wait(b, why);
    }
    if (rc)
        return rc;
    mapped_take(m, chunks - 1);
    return shm_coll_round(b, why); /* until the others have taken theirs */
}
