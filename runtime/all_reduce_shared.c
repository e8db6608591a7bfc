/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_shared.c: all_reduce where all members share memory (shm_board.h). Every operand is copied
 * once, into its rank's cell, and read there by whoever reduces it.
 *
 * Short: everyone reduces everything itself: one round. Long: everyone reduces its piece of each cell,
 * then takes the others' results: two rounds a cell, the fewest bytes. R. Rabenseifner's two halves again
 * (all_reduce_direct.c), with one copy where links make one for each peer. Cells fit in a second-level
 * cache, so that a vector of any length goes through memory once in and once out.
 *
 * Operands meet in the order of ranks everywhere: the same bits.
 */
#include "runtime/all_reduce.h"

#include "runtime/reduce_op.h"
#include "runtime/shm_board.h"
#include "runtime/steps.h"

#include <string.h>

enum { GRAIN = 8192 /* bytes that are reduced by all ranks' operands before the next: L1 */ };

/* Where rank's operand is; NULL: of all ranks where shm_board_begin put it. */
struct operands {
    const struct shm_board *board;
    size_t offset;    /* in the cells */
    const char *mine; /* this rank's, not in its cell; or NULL */
};

static const void *operand_of(const struct operands *o, int rank, size_t offset)
{
    if (o->mine && rank == o->board->group->rank)
        return o->mine + offset;
    return shm_board_cell(o->board, rank) + o->offset + offset;
}

/* sum = operand 0 op operand 1 op … of `size` bytes. `sum` may lie over this rank's operand if that is in
 * its cell, or if there are two ranks. */
static void combine(const struct operands *o, char *sum, size_t size)
{
    const struct group *g = o->board->group;
    reduce_fn *reduce_them = reduce_op(g->call.type, g->call.op);
    size_t element = type_size(g->call.type);

    for (size_t done = 0, n; done < size; done += n) {
        const void *left = operand_of(o, 0, done);

        n = size - done < GRAIN ? size - done : GRAIN;
        for (int r = 1; r < g->size; r++) {
            reduce_them(sum + done, left, operand_of(o, r, done), n / element);
            left = sum + done;
        }
    }
}

/* --- short -------------------------------------------------------------------------------------
 */

static int reduce_lines(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct shm_board *b = g->board;
    reduce_fn *reduce_them = reduce_op(g->call.type, g->call.op);
    size_t count = size / type_size(g->call.type);
    const void *left;
    int rc = shm_board_begin(b, in, size, why);

    if (rc || !size)
        return rc;
    left = shm_board_payload(b, 0);
    for (int r = 1; r < g->size; r++) {
        reduce_them(out, left, shm_board_payload(b, r), count);
        left = out;
    }
    return 0;
}

static int reduce_cells(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct shm_board *b = g->board;
    struct operands all = {.board = b};
    int rc = 0;

    for (size_t done = 0, n; done < size && !rc; done += n) {
        n = size - done < b->cell_size ? size - done : b->cell_size;
        shm_board_turn(b);
        memcpy(shm_board_cell(b, g->rank), at(in, done), n);
        rc = done ? shm_board_round(b, why) : shm_board_begin(b, NULL, 0, why);
        if (!rc)
            combine(&all, at(out, done), n);
    }
    return rc;
}

int all_reduce_shared_flat(struct group *g, const void *in, void *out, size_t size,
                           struct fault *why)
{
    return size <= BOARD_PAYLOAD ? reduce_lines(g, in, out, size, why)
                                 : reduce_cells(g, in, out, size, why);
}

/* --- long --------------------------------------------------------------------------------------
 */

/* The operands of the others' pieces, which is all that they will look at. */
static void give(const struct shm_board *b, const struct blocks *pieces, const char *in)
{
    struct piece mine = blocks_block(pieces, b->group->rank);
    unsigned char *cell = shm_board_cell(b, b->group->rank);
    size_t behind = mine.offset + mine.size;

    if (mine.offset)
        memcpy(cell, in, mine.offset);
    if (pieces->size > behind)
        memcpy(cell + behind, in + behind, pieces->size - behind);
}

/* All ranks' results, from the cells in which they were reduced. */
static void take(const struct shm_board *b, const struct blocks *pieces, char *out)
{
    for (int r = 0; r < b->group->size; r++) {
        struct piece p = blocks_block(pieces, r);
        const unsigned char *from = shm_board_cell(b, r) + p.offset;

        if (p.size)
            memcpy(out + p.offset, from, p.size);
    }
}

int all_reduce_shared(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct shm_board *b = g->board;
    int rc = size ? 0 : shm_board_begin(b, NULL, 0, why);

    for (size_t done = 0, n; done < size && !rc; done += n) {
        struct operands mine = {.board = b};
        struct blocks pieces;
        struct piece p;

        n = size - done < b->cell_size ? size - done : b->cell_size;
        blocks_cut(&pieces, n, g->size);
        p = blocks_block(&pieces, g->rank);
        mine.offset = p.offset;
        mine.mine = at(in, done + p.offset);
        shm_board_turn(b);
        give(b, &pieces, at(in, done));
        rc = done ? shm_board_round(b, why) : shm_board_begin(b, NULL, 0, why);
        if (rc)
            break;
        combine(&mine, (char *)shm_board_cell(b, g->rank) + p.offset, p.size);
        rc = shm_board_round(b, why);
        if (!rc)
            take(b, &pieces, at(out, done));
    }
    return rc;
}
