/* SPDX-License-Identifier: MIT */
#include "runtime/call/task_bytes.h"

static struct task_bytes bytes_of_shares(const struct group *g, const void *at, const size_t *sizes,
                                         const size_t *offsets)
{
    struct task_bytes b = {at, 0, sizes, offsets};
    size_t next = 0;

    for (int r = 0; r < g->size; r++) {
        size_t end = (offsets ? offsets[r] : next) + sizes[r];

        if (sizes[r] && end > b.end)
            b.end = end;
        next = end;
    }
    return b;
}

static struct task_sizes bytes_of_even(const struct group *g, const struct task *t)
{
    return task_sizes(g, t, call_kind_has(t->kind, CALL_REDUCES) ? task_size(t) : t->count);
}

struct task_bytes task_bytes_read(const struct group *g, const struct task *t)
{
    struct task_bytes none = {0};

    if (!call_kind_has(t->kind, CALL_MOVES))
        return none;
    if (t->kind == CALL_SEND)
        return (struct task_bytes){t->in, t->to == ML_NOBODY ? 0 : t->count, NULL, NULL};
    if (t->kind == CALL_ALL_TO_ALL_V)
        return bytes_of_shares(g, t->in, t->shares->in_sizes, t->shares->in_offsets);
    if (t->kind == CALL_ALL_GATHER_V)
        return (struct task_bytes){t->in, t->shares->out_sizes[g->rank], NULL, NULL};
    return (struct task_bytes){call_kind_has(t->kind, CALL_IN_PLACE) ? t->out : t->in,
                               bytes_of_even(g, t).in, NULL, NULL};
}

struct task_bytes task_bytes_written(const struct group *g, const struct task *t)
{
    bool leaves = call_kind_has(t->kind, CALL_IN_PLACE) && g->rank == t->root;

    if (!call_kind_has(t->kind, CALL_MOVES))
        return (struct task_bytes){0};
    if (t->kind == CALL_SEND)
        return (struct task_bytes){t->out, t->from == ML_NOBODY ? 0 : t->out_size, NULL, NULL};
    if (call_kind_has(t->kind, CALL_VARIES))
        return bytes_of_shares(g, t->out, t->shares->out_sizes, t->shares->out_offsets);
    return (struct task_bytes){t->out, leaves ? 0 : bytes_of_even(g, t).out, NULL, NULL};
}
