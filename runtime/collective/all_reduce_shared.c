/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_shared.c: all_reduce where all members share memory (shm_coll.h). Each operand is
 * copied once, into its rank's cell, and the ranks that reduce it read it there.
 *
 * For short vectors every rank reduces everything itself, in one round. For long ones every rank
 * reduces its piece of each cell, then copies the others' results: the fewest bytes. These are R.
 * Rabenseifner's two halves again (all_reduce_direct.c), with one copy where links make one for
 * each peer. Cells fit in a second-level cache, so a vector of any length passes through memory
 * once on the way in and once on the way out.
 *
 * Three cells are under way at a time, so that one round serves all of them and no rank waits for
 * another one that is late by less than a cell's work:
 *
 *     round n: give cell n, reduce my piece of cell n - 1, post, take cell n - 2, wait for all
 *
 * Long vectors that all members can read in each other's memory need no cells
 * (all_reduce_mapped.h).
 *
 * Operands meet in the order of ranks everywhere, which gives the same bits.
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/collective/all_reduce_mapped.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/steps/reduce_order.h"
#include "runtime/steps/steps.h"
#include "runtime/transport/shm_coll.h"

#include <string.h>

/* The ranks' cells, but for this rank its vector instead: a cell that others are reading is slower
 * to read. */
struct cells {
    struct operands all;
    const struct shm_coll *coll;
    unsigned back;    /* how many turns ago the cells were filled */
    size_t offset;    /* in the cells */
    const char *mine; /* this rank's operand from there on */
};

static const char *cells_find(const struct operands *o, int i, size_t offset)
{
    const struct cells *c = (const struct cells *)o;

    if (i == c->coll->group->rank)
        return c->mine + offset;
    return (const char *)shm_coll_cell(c->coll, i, c->back) + c->offset + offset;
}

/* --- short -------------------------------------------------------------------------------------
 */

/* Reads its own operand from the caller's vector, which is faster than a line that other ranks are
 * reading; unless in == out with more than two ranks, where it may already have been
 * overwritten. */
static int shared_reduce_lines(struct group *g, const void *in, void *out, size_t size,
                               struct fault *why)
{
    struct shm_coll *b = g->shared.coll;
    reduce_fn *reduce_them = reduce_op(g->call.type, g->call.op);
    size_t count = size / reduce_type_size(g->call.type);
    const void *own = in != out || g->size == 2 ? in : NULL, *left = NULL;
    int rc = shm_coll_begin(b, in, size, why);

    for (int r = 0; r < g->size && !rc && size; r++) {
        const void *right = own && r == g->rank ? own : shm_coll_payload(b, r);

        if (r)
            reduce_them(out, left, right, count);
        left = r ? out : right;
    }
    return rc;
}

/* A vector that fills this rank's next cell. */
struct whole {
    const struct shm_coll *coll;
    const char *in;
    size_t size;
    size_t cell; /* bytes */
};

static void whole_give(const void *context)
{
    const struct whole *w = context;

    if (w->size)
        memcpy(shm_coll_cell(w->coll, w->coll->group->rank, 0), w->in,
               w->size < w->cell ? w->size : w->cell);
}

static int shared_reduce_cells(struct group *g, const void *in, void *out, size_t size,
                               struct fault *why)
{
    struct shm_coll *b = g->shared.coll;
    struct cells cells = {.all = {cells_find, g->size}, .coll = b};
    struct whole rest = {b, in, size, blocks_part(g, b->cell_size)};
    struct mapped m;
    int rc = all_reduce_mapped_begin(&m, g, in, out, size, whole_give, &rest, why);

    if (rc > 0)
        return all_reduce_mapped_run(&m, why);
    for (size_t done = 0, n; !rc; done += n) {
        cells.mine = buffer_at(in, done);
        n = size - done < rest.cell ? size - done : rest.cell;
        reduce_order_run(&cells.all, &g->call, buffer_at(out, done), n);
        if (done + n == size)
            break;
        rest.in += n;
        rest.size -= n;
        shm_coll_turn(b);
        whole_give(&rest);
        rc = shm_coll_round(b, why);
    }
    return rc;
}

int all_reduce_shared_flat(struct group *g, const void *in, void *out, size_t size,
                           struct fault *why)
{
    /* What lies on a line is aligned to 8 bytes only, and an operator may need more. */
    return size <= SHM_COLL_PAYLOAD && !g->call.combiner
               ? shared_reduce_lines(g, in, out, size, why)
               : shared_reduce_cells(g, in, out, size, why);
}

/* --- long --------------------------------------------------------------------------------------
 */

/* A vector that passes through the cells. */
struct passage {
    struct shm_coll *coll;
    const char *in;
    char *out;
    size_t size, cells; /* in bytes; in cells that they fill */
    size_t cell;        /* bytes that a cell gets */
};

/* Returns the offset of cell `n` in the vector, and cuts it into the ranks' pieces. */
static size_t passage_cut(const struct passage *p, size_t n, struct blocks *pieces)
{
    const struct group *g = p->coll->group;
    size_t offset = n * p->cell, left = p->size - offset;

    blocks_cut(pieces, g, left < p->cell ? left : p->cell, g->size);
    return offset;
}

/* Fills this rank's cell with its operands of the others' pieces, which are all that they read. */
static void passage_give(const struct passage *p, size_t n)
{
    const struct shm_coll *b = p->coll;
    struct blocks pieces;
    const char *in = buffer_at(p->in, passage_cut(p, n, &pieces));
    struct piece mine = blocks_block(&pieces, b->group->rank);
    unsigned char *cell = shm_coll_cell(b, b->group->rank, 0);
    size_t behind = mine.offset + mine.size;

    if (mine.offset)
        memcpy(cell, in, mine.offset);
    if (pieces.size > behind)
        memcpy(cell + behind, in + behind, pieces.size - behind);
}

/* Reduces this rank's piece of cell `n`, which was filled `back` turns ago, for the others (in the
 * cell) and for itself (in `out`). */
static void passage_reduce(const struct passage *p, size_t n, unsigned back)
{
    const struct shm_coll *b = p->coll;
    struct blocks pieces;
    size_t offset = passage_cut(p, n, &pieces);
    struct piece mine = blocks_block(&pieces, b->group->rank);
    char *sum = (char *)shm_coll_cell(b, b->group->rank, back) + mine.offset;
    struct cells cells = {
        {cells_find, b->group->size}, b, back, mine.offset, buffer_at(p->in, offset + mine.offset)};

    if (!mine.size)
        return;
    reduce_order_run(&cells.all, &b->group->call, sum, mine.size);
    memcpy(buffer_at(p->out, offset + mine.offset), sum, mine.size);
}

/* Copies the others' results, each rank in another order, so that they don't all read one rank's
 * cell at once. */
static void passage_take(const struct passage *p, size_t n, unsigned back)
{
    const struct group *g = p->coll->group;
    struct blocks pieces;
    char *out = buffer_at(p->out, passage_cut(p, n, &pieces));

    for (int j = 1; j < g->size; j++) {
        int from = rank_after(g, j);
        struct piece theirs = blocks_block(&pieces, from);

        if (theirs.size)
            memcpy(out + theirs.offset, shm_coll_cell(p->coll, from, back) + theirs.offset,
                   theirs.size);
    }
}

/* Round n, as drawn above. The last two rounds fill no cell, so the turn stays what it was. */
static int passage_round(const struct passage *p, size_t n, struct fault *why)
{
    unsigned late = n < p->cells ? 0 : (unsigned)(n - p->cells + 1);
    int rc = 0;

    if (n < p->cells) {
        shm_coll_turn(p->coll);
        passage_give(p, n);
    }
    if (n <= p->cells) {
        passage_reduce(p, n - 1, 1 - late);
        shm_coll_post(p->coll);
    }
    if (n >= 2)
        passage_take(p, n - 2, 2 - late);
    if (n <= p->cells)
        rc = shm_coll_wait(p->coll, why);
    return rc;
}

static void passage_give_first(const void *context)
{
    passage_give(context, 0);
}

int all_reduce_shared(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct passage p = {.coll = g->shared.coll, .in = in, .out = out, .size = size};
    struct mapped m;
    int rc;

    if (!size)
        return shm_coll_begin(g->shared.coll, NULL, 0, why);
    p.cell = blocks_part(g, p.coll->cell_size);
    p.cells = size / p.cell + (size % p.cell != 0);
    rc = all_reduce_mapped_begin(&m, g, in, out, size, passage_give_first, &p, why);
    if (rc > 0)
        return all_reduce_mapped_run(&m, why);
    for (size_t n = 1; n < p.cells + 2 && !rc; n++)
        rc = passage_round(&p, n, why);
    return rc;
}
