/* SPDX-License-Identifier: MIT */
/*
 * all_to_all_v.c: exchanges with all peers at once. In place, what is sent is copied first: the
 * blocks that arrive may lie over any of it, because the sizes of both sides are independent.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/steps.h"

#include <string.h>

/* One side of the call: the blocks of a buffer, visited in the order of ranks. */
struct side {
    const void *buf;
    const size_t *sizes, *offsets;
    size_t before; /* bytes of the blocks visited so far */
};

static char *side_next(struct side *s, int r)
{
    size_t place = s->sizes[r] ? s->offsets ? s->offsets[r] : s->before : 0;

    s->before += s->sizes[r];
    return buffer_at(s->buf, place);
}

static size_t side_size(const struct group *g, const size_t *sizes)
{
    size_t all = 0;

    for (int r = 0; r < g->size; r++)
        all += sizes[r];
    return all;
}

/* Copies all blocks to `aside`, one after the other, where `in` finds them from now on. */
static void side_copy(const struct group *g, struct side *in, char *aside)
{
    struct side from = *in;

    *in = (struct side){.buf = aside, .sizes = in->sizes};
    for (int r = 0; r < g->size; r++) {
        char *to = buffer_at(aside, from.before), *block = side_next(&from, r);

        if (from.sizes[r])
            memcpy(to, block, from.sizes[r]);
    }
}

int all_to_all_v_run(struct group *g, const void *in, const size_t *in_sizes,
                     const size_t *in_offsets, void *out, const size_t *out_sizes,
                     const size_t *out_offsets, struct fault *why)
{
    struct side from = {in, in_sizes, in_offsets, 0}, to = {out, out_sizes, out_offsets, 0};
    size_t aside_size = in == out ? side_size(g, in_sizes) : 0;
    struct pipeline p;
    void *aside;
    int rc = pipeline_open(&p, g, 2 * g->size, &aside, aside_size, why);

    if (rc)
        return rc;
    if (in == out)
        side_copy(g, &from, aside);
    for (int r = 0; r < g->size; r++) {
        int away = (r - g->rank + g->size) % g->size, back = g->size - away;
        char *source = side_next(&from, r), *target = side_next(&to, r);

        if (r == g->rank) {
            if (out_sizes[r])
                memcpy(target, source, out_sizes[r]);
            continue;
        }
        p.t[2 * (away - 1)] = recv_from(r, target, out_sizes[r]);
        p.t[2 * (back - 1) + 1] = send_to(r, source, in_sizes[r]);
    }
    return message_op_run(g, p.t, 2 * (g->size - 1), why);
}
