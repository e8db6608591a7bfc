/* SPDX-License-Identifier: MIT */
#include "runtime/reduce_flat.h"

#include "runtime/reduce_op.h"

int reduce_flat_open(struct pipeline *p, struct group *g, const struct blocks *b, void **work,
                     struct fault *why)
{
    return pipeline_open(p, g, 2 * g->size, work, (size_t)g->size * b->block, why);
}

void reduce_in_order(const struct call *call, const struct team *m, size_t size, size_t step,
                     const void *mine, void *sum, char *work)
{
    reduce_fn *combine = reduce_op(call->type, call->op);
    size_t count = size / type_size(call->type);
    const void *left = m->place == 0 ? mine : work;

    for (int r = 1; r < m->size; r++) {
        const void *right = r == m->place ? mine : work + (size_t)r * step;
        void *into = r == m->size - 1 ? sum : work;

        combine(into, left, right, count);
        left = into;
    }
}

int reduce_flat(struct pipeline *p, const struct team *m, const struct blocks *b, const void *in,
                void *sum, void *work, struct fault *why)
{
    struct piece mine = blocks_block(b, m->place);
    int n = 0, rc;

    for (int j = 1; j < m->size; j++) {
        int to = team_after(m, -j), from = team_after(m, j);
        struct piece theirs = blocks_block(b, to);

        p->t[n++] = send_to(team_rank(m, to), at(in, theirs.offset), theirs.size);
        p->t[n++] = recv_from(team_rank(m, from), at(work, (size_t)from * b->block), mine.size);
    }
    rc = transfer_run(p->group, p->t, n, why);
    if (!rc)
        reduce_in_order(&p->group->call, m, mine.size, b->block, at(in, mine.offset), sum, work);
    return rc;
}

int share_flat(struct pipeline *p, const struct team *m, const struct blocks *b, void *out,
               struct fault *why)
{
    struct piece mine = blocks_block(b, m->place);
    int n = 0;

    for (int j = 1; j < m->size; j++) {
        int to = team_after(m, -j), from = team_after(m, j);
        struct piece theirs = blocks_block(b, from);

        p->t[n++] = send_to(team_rank(m, to), at(out, mine.offset), mine.size);
        p->t[n++] = recv_from(team_rank(m, from), at(out, theirs.offset), theirs.size);
    }
    return transfer_run(p->group, p->t, n, why);
}
