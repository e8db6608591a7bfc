/* SPDX-License-Identifier: MIT */
/*
 * all_gather_v.c: every rank sends its share to all others at once; with many ranks, in log2(ranks)
 * rounds (gather_bruck.h). Every size meets another rank's
 * opinion of it, that of its owner, so ranks that disagree on one notice it.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/gather_bruck.h"
#include "runtime/steps/steps.h"

#include <string.h>

/* Fills in the transfers with all peers, which begin with this rank's neighbours. Returns how
 * many. */
static int shares_exchange(const struct group *g, const char *mine, char *out, const size_t *sizes,
                           const size_t *offsets, struct message_op *t)
{
    size_t before = 0;

    for (int r = 0; r < g->size; r++) {
        int away = (r - g->rank + g->size) % g->size, back = g->size - away;
        size_t place = sizes[r] ? offsets ? offsets[r] : before : 0;

        before += sizes[r];
        if (r == g->rank)
            continue;
        t[2 * (away - 1)] = recv_from(r, buffer_at(out, place), sizes[r]);
        t[2 * (back - 1) + 1] = send_to(r, mine, sizes[g->rank]);
    }
    return 2 * (g->size - 1);
}

/* Where this rank's block begins in `out`. */
static size_t own_place(const struct group *g, const size_t *sizes, const size_t *offsets)
{
    size_t before = 0;

    if (!sizes[g->rank])
        return 0;
    for (int r = 0; r < g->rank && !offsets; r++)
        before += sizes[r];
    return offsets ? offsets[g->rank] : before;
}

/* The same with few peers; this rank's share is in its place. */
static int shares_pass(struct pipeline *p, char *out, const size_t *sizes, const size_t *offsets,
                       struct piece *shares, struct fault *why)
{
    const struct team all = {.size = p->group->size, .index = p->group->rank};
    size_t before = 0;

    for (int r = 0; r < all.size; r++) {
        shares[r] = (struct piece){sizes[r] ? offsets ? offsets[r] : before : 0, sizes[r]};
        before += sizes[r];
    }
    return gather_bruck(p, &all, out, shares, why);
}

int all_gather_v_run(struct group *g, const void *in, void *out, const size_t *sizes,
                     const size_t *offsets, struct fault *why)
{
    char *place = buffer_at(out, own_place(g, sizes, offsets));
    const char *mine = in == out ? place : in;
    size_t size = sizes[g->rank];
    bool is_large = g->size > ALGORITHM_FEW;
    struct pipeline p;
    void *work;
    int rc = pipeline_open(&p, g, 2 * g->size, &work,
                           is_large ? (size_t)g->size * sizeof(struct piece) : 0, why);
    int n;

    if (rc)
        return rc;
    if ((mine == place || is_large) && in != place && size) /* another share arrives over it */
        memmove(place, in, size);
    if (is_large)
        return shares_pass(&p, out, sizes, offsets, work, why);
    n = shares_exchange(g, mine, out, sizes, offsets, p.t);
    rc = message_op_start(g, p.t, n, why);
    if (rc)
        return rc;
    if (mine != place && size)
        memcpy(place, mine, size);
    return message_op_wait(g, p.t, n, why);
}
