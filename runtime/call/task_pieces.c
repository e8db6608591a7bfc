/* SPDX-License-Identifier: MIT */
/*
 * task_pieces.c: the cut. The buffers of a call are rows, one behind the other, and a piece has the
 * same columns of each:
 *
 *     in   ┌────┬────┬────┐      all_gather: one row in, one for each rank out; reduce_scatter and
 *     row 0│  0 │  1 │  2 │      scatter: the other way round; broadcast: one row. A vector that
 *     row 1│  0 │  1 │  2 │      is reduced has a row for each rank's block, as the algorithms cut
 *     row 2│  0 │  1 │  2 │      it (blocks_cut): in which order operands meet may depend on the
 *          └────┴────┴────┘      block, and each piece has the same blocks again.
 */
#include "runtime/call/task_pieces.h"

#include "runtime/gpu/gpu_buffer.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/message_op.h"

#include <stdlib.h>

enum {
    LINE = 64,             /* bytes of which blocks are multiples, and so are columns */
    COLUMNS_LEAST = 16384, /* bytes of a row in a piece */
    RANKS_MOST = 256,      /* so that what is left over of a vector is shorter than a piece */
    UNDER_WAY = 2,         /* pieces of each buffer */
};

struct cut {
    size_t in_rows, out_rows;
    size_t row, last; /* bytes of each row, and of the last one */
    size_t even;      /* columns that all rows have, in whole lines unless the last is as long */
    size_t width;     /* columns of a piece */
    size_t pieces;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool cut_is_vector(const struct task *t)
{
    return t->kind == CALL_ALL_REDUCE || t->kind == CALL_REDUCE;
}

static size_t cut_rows(const struct cut *c)
{
    return c->in_rows > c->out_rows ? c->in_rows : c->out_rows;
}

static struct cut cut_make(const struct group *g, const struct task *t)
{
    size_t ranks = (size_t)g->size;
    size_t size = call_kind_has(t->kind, CALL_REDUCES) ? task_size(t) : t->count;
    struct cut c = {.in_rows = call_kind_has(t->kind, CALL_READS_ALL) ? ranks : 1,
                    .out_rows = call_kind_has(t->kind, CALL_WRITES_ALL) ? ranks : 1,
                    .row = size,
                    .last = size,
                    .even = size};

    if (cut_is_vector(t) && ranks > 2) { /* two operands meet in one order everywhere */
        c.in_rows = c.out_rows = ranks;
        c.row = (size / ranks + (size % ranks != 0) + LINE - 1) / LINE * LINE;
        c.last = size - smaller(size, (ranks - 1) * c.row);
        c.even = c.last / LINE * LINE;
    }
    c.width = g->gpu_piece / cut_rows(&c) / LINE * LINE;
    if (cut_rows(&c) > 1 && c.width < COLUMNS_LEAST)
        c.width = COLUMNS_LEAST;
    c.pieces = (c.even + c.width - 1) / c.width + (c.even < c.row);
    return c;
}

bool task_pieces_fit(const struct group *g, const struct task *t)
{
    struct cut c;

    if (!g->gpu_piece || t->with || !call_kind_has(t->kind, CALL_MOVES) ||
        call_kind_has(t->kind, CALL_VARIES) || t->kind == CALL_SEND || t->kind == CALL_SCAN ||
        t->kind == CALL_EXCLUSIVE_SCAN)
        return false;
    if (cut_is_vector(t) && g->size > RANKS_MOST)
        return false;
    c = cut_make(g, t);
    return c.last && c.row * cut_rows(&c) > UNDER_WAY * g->gpu_piece;
}

/* The columns of piece n: offset and size in each row. */
static struct gpu_span cut_columns(const struct cut *c, size_t n)
{
    size_t begin = n * c->width;

    if (begin < c->even)
        return (struct gpu_span){begin, smaller(c->width, c->even - begin)};
    return (struct gpu_span){c->even, c->row - c->even};
}

/* Stores where a piece lies in a buffer of that many rows. Returns its bytes. */
static size_t cut_spans(const struct cut *c, size_t n, size_t rows, struct gpu_span *spans)
{
    struct gpu_span columns = cut_columns(c, n);
    size_t size = 0;

    for (size_t r = 0; r < rows; r++) {
        size_t end = r + 1 < rows ? c->row : c->last;

        spans[r].offset = r * c->row + columns.offset;
        spans[r].size = smaller(columns.size, end - smaller(end, columns.offset));
        size += spans[r].size;
    }
    return size;
}

/* --- agreement -------------------------------------------------------------------------------- */

static int agree_exchange(struct group *g, enum message_op_what what, int peer, uint8_t *byte,
                          struct fault *why)
{
    struct message_op op = {.what = what, .peer = peer, .buf = byte, .size = 1};

    return message_op_run(g, &op, 1, why);
}

/* Up a binomial tree and down again. *all: in, what this rank says; out, whether all say so. */
static int pieces_agree(struct group *g, bool *all, struct fault *why)
{
    uint8_t mine = *all, theirs;
    int bit = 1, rc = 0;

    for (; !rc && bit < g->size && !(g->rank & bit); bit *= 2) {
        if (g->rank + bit >= g->size)
            continue;
        rc = agree_exchange(g, MESSAGE_OP_RECV, g->rank + bit, &theirs, why);
        mine &= theirs;
    }
    if (!rc && g->rank)
        rc = agree_exchange(g, MESSAGE_OP_SEND, g->rank - bit, &mine, why);
    if (!rc && g->rank)
        rc = agree_exchange(g, MESSAGE_OP_RECV, g->rank - bit, &mine, why);
    for (bit /= 2; !rc && bit; bit /= 2)
        if (g->rank + bit < g->size)
            rc = agree_exchange(g, MESSAGE_OP_SEND, g->rank + bit, &mine, why);
    *all = mine == 1;
    return rc;
}

/* --- running ---------------------------------------------------------------------------------- */

struct sliced {
    struct group *group;
    const struct task *task;
    task_pieces_fn *carry_out;
    struct cut cut;
    struct gpu_pipe in, out;
    struct gpu_span *spans; /* where one piece lies */
};

/* Adds whose call has failed. */
static int pieces_failed(const struct group *g, const struct task *t, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "%s: %s", group_describe(g, g->rank, who), t->name);
}

static int sliced_open_pipe(struct gpu_pipe *p, const struct gpu_buffer *b, bool reads,
                            size_t piece, struct fault *why)
{
    return b ? gpu_pipe_open(p, &b->memory, reads, piece, UNDER_WAY, why) : 0;
}

static int sliced_open(struct sliced *p, struct fault *why)
{
    const struct task *t = p->task;
    int rc;

    p->spans = calloc(cut_rows(&p->cut), sizeof(*p->spans));
    if (!p->spans)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = sliced_open_pipe(&p->in, t->in_gpu, true, p->cut.in_rows * p->cut.width, why);
    return rc ? rc
              : sliced_open_pipe(&p->out, t->out_gpu, false, p->cut.out_rows * p->cut.width, why);
}

static void sliced_close(struct sliced *p)
{
    if (p->task->in_gpu)
        gpu_pipe_close(&p->in, &p->task->in_gpu->memory);
    if (p->task->out_gpu)
        gpu_pipe_close(&p->out, &p->task->out_gpu->memory);
    free(p->spans);
}

/* Begins to copy piece n of a buffer. */
static int sliced_copy(struct sliced *p, struct gpu_pipe *pipe, const struct gpu_buffer *b,
                       size_t rows, size_t n, struct fault *why)
{
    if (!b || n == p->cut.pieces)
        return 0;
    cut_spans(&p->cut, n, rows, p->spans);
    return gpu_pipe_start(pipe, &b->memory, n, b->at, p->spans, rows, why);
}

static int sliced_await(struct gpu_pipe *pipe, const struct gpu_buffer *b, size_t n,
                        struct fault *why)
{
    return b ? gpu_pipe_await(pipe, &b->memory, n, why) : 0;
}

/* Carries out the call on piece n, as one of the whole would do it. */
static int sliced_carry_out(struct sliced *p, size_t n, struct fault *why)
{
    struct task t = *p->task;
    size_t unit = call_kind_has(t.kind, CALL_REDUCES) ? task_size(&t) / t.count : 1;
    size_t size = cut_is_vector(&t) ? cut_spans(&p->cut, n, p->cut.in_rows, p->spans)
                                    : cut_columns(&p->cut, n).size;
    int rc;

    t.count = size / unit;
    if (t.in_gpu)
        t.in = gpu_pipe_piece(&p->in, n);
    if (t.out_gpu)
        t.out = gpu_pipe_piece(&p->out, n);
    else if (call_kind_has(t.kind, CALL_IN_PLACE))
        t.out = gpu_pipe_piece(&p->in, n);
    p->group->call_rest = (p->task->count - t.count) * unit;
    rc = p->carry_out(p->group, &t, why);
    p->group->call_rest = 0;
    return rc;
}

/* *is_copy: what has failed is a copy. */
static int sliced_run(struct sliced *p, bool *is_copy, struct fault *why)
{
    const struct task *t = p->task;
    int rc = sliced_copy(p, &p->in, t->in_gpu, p->cut.in_rows, 0, why);

    *is_copy = true;
    for (size_t n = 0; n < p->cut.pieces && !rc; n++) {
        rc = sliced_copy(p, &p->in, t->in_gpu, p->cut.in_rows, n + 1, why);
        if (!rc)
            rc = sliced_await(&p->in, t->in_gpu, n, why);
        if (!rc)
            rc = sliced_await(&p->out, t->out_gpu, n, why); /* its use two pieces ago */
        if (rc)
            return rc;
        rc = sliced_carry_out(p, n, why);
        *is_copy = !rc;
        if (!rc)
            rc = sliced_copy(p, &p->out, t->out_gpu, p->cut.out_rows, n, why);
    }
    return rc || !t->out_gpu ? rc : gpu_pipe_settle(&p->out, &t->out_gpu->memory, why);
}

static int pieces_run_cut(struct group *g, const struct task *t, task_pieces_fn *carry_out,
                          struct fault *why)
{
    struct sliced p = {.group = g, .task = t, .carry_out = carry_out, .cut = cut_make(g, t)};
    bool is_copy = true;
    int rc = sliced_open(&p, why);

    if (!rc)
        rc = sliced_run(&p, &is_copy, why);
    sliced_close(&p);
    return rc && is_copy ? pieces_failed(g, t, why) : rc;
}

/* A room for all of a late buffer. */
static int pieces_stage(struct gpu_buffer *b, bool reads, struct fault *why)
{
    struct gpu_span all = {0, b->size};
    int rc = gpu_buffer_fetch(b, why);

    return rc || !reads ? rc : gpu_buffer_read(b, &all, 1, why);
}

static int pieces_run_whole(struct group *g, const struct task *t, task_pieces_fn *carry_out,
                            struct fault *why)
{
    struct task whole = *t;
    int rc = t->out_gpu ? pieces_stage(t->out_gpu, false, why) : 0;

    if (!rc && t->in_gpu)
        rc = pieces_stage(t->in_gpu, true, why);
    if (rc)
        return pieces_failed(g, t, why);
    if (t->in_gpu)
        whole.in = t->in_gpu->bounce.memory;
    if (t->out_gpu)
        whole.out = t->out_gpu->bounce.memory;
    else if (t->in_gpu && call_kind_has(t->kind, CALL_IN_PLACE))
        whole.out = t->in_gpu->bounce.memory;
    return carry_out(g, &whole, why);
}

int task_pieces_run(struct group *g, const struct task *t, task_pieces_fn *carry_out,
                    struct fault *why)
{
    bool is_on_gpu = t->in_gpu || t->out_gpu, all = is_on_gpu;
    int rc = pieces_agree(g, &all, why);

    if (rc)
        return rc;
    if (is_on_gpu)
        gpu_way_tell_calls(g->members[g->rank], all ? NULL : "another rank has it elsewhere");
    return all ? pieces_run_cut(g, t, carry_out, why) : pieces_run_whole(g, t, carry_out, why);
}
