/* SPDX-License-Identifier: MIT */
#include "runtime/steps/reduce_flat.h"

#include "runtime/steps/reduce_order.h"

int reduce_flat_open(struct pipeline *p, struct group *g, const struct blocks *b, void **work,
                     struct fault *why)
{
    return pipeline_open(p, g, 2 * g->size, work, (size_t)g->size * b->block, why);
}

struct received {
    struct operands all;
    int index; /* this rank's */
    const char *mine, *work;
    size_t step;
};

static const char *received_find(const struct operands *o, int i, size_t offset)
{
    const struct received *c = (const struct received *)o;

    return (i == c->index ? c->mine : c->work + (size_t)i * c->step) + offset;
}

void reduce_flat_received(const struct call *call, const struct team *m, size_t size, size_t step,
                          const void *mine, void *sum, const char *work)
{
    struct received c = {{received_find, m->size}, m->index, mine, work, step};

    reduce_order_run(&c.all, call, sum, size);
}

int reduce_flat_run(struct pipeline *p, const struct team *m, const struct blocks *b,
                    const void *in, void *sum, void *work, struct fault *why)
{
    struct piece mine = blocks_block(b, m->index);
    int n = 0, rc;

    for (int j = 1; j < m->size; j++) {
        int to = team_after(m, -j), from = team_after(m, j);
        struct piece theirs = blocks_block(b, to);

        p->t[n++] = send_to(team_rank(m, to), buffer_at(in, theirs.offset), theirs.size);
        p->t[n++] =
            recv_from(team_rank(m, from), buffer_at(work, (size_t)from * b->block), mine.size);
    }
    rc = message_op_run(p->group, p->t, n, why);
    if (!rc)
        reduce_flat_received(&p->group->call, m, mine.size, b->block, buffer_at(in, mine.offset),
                             sum, work);
    return rc;
}

int reduce_flat_share(struct pipeline *p, const struct team *m, const struct blocks *b, void *out,
                      struct fault *why)
{
    struct piece mine = blocks_block(b, m->index);
    int n = 0;

    for (int j = 1; j < m->size; j++) {
        int to = team_after(m, -j), from = team_after(m, j);
        struct piece theirs = blocks_block(b, from);

        p->t[n++] = send_to(team_rank(m, to), buffer_at(out, mine.offset), mine.size);
        p->t[n++] = recv_from(team_rank(m, from), buffer_at(out, theirs.offset), theirs.size);
    }
    return message_op_run(p->group, p->t, n, why);
}
