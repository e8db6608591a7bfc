/* SPDX-License-Identifier: MIT */
/*
 * all_gather_hierarchical.c: each share crosses to every other host once, to the rank of its owner's place, which hands it
 * to the others there while the next one comes. (The first half of all_reduce_hierarchical.c, backwards.)
 */
#include "runtime/collective/all_gather.h"

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

enum { PART = 1 << 20 /* bytes of a share that go through both levels at a time */ };

/* Shares in parts; a step's part, and whose. */
struct unit {
    size_t offset, size;
    int distance; /* hosts behind this one */
};

static struct unit unit_of(size_t number, size_t size, int hosts)
{
    struct unit u = {.offset = number / (size_t)hosts * PART,
                     .distance = (int)(number % (size_t)hosts)};

    u.size = size - u.offset < PART ? size - u.offset : PART;
    return u;
}

/* Between hosts: what this rank gets at distance 0 it has. */
static int cross(const struct group *g, char *out, size_t size, const struct unit *u,
                 struct transfer *t)
{
    const struct team *across = &g->hierarchy->across;
    int to = team_rank(across, team_after(across, -u->distance));
    int from = team_rank(across, team_after(across, u->distance));

    if (!u->distance)
        return 0;
    t[0] = send_to(to, at(out, (size_t)g->rank * size + u->offset), u->size);
    t[1] = recv_from(from, at(out, (size_t)from * size + u->offset), u->size);
    return 2;
}

/* On this host: the shares of another one's ranks, one each. */
static int hand_round(const struct group *g, char *out, size_t size, const struct unit *u,
                      struct transfer *t)
{
    const struct hierarchy *h = g->hierarchy;
    const int *owners = h->by_host + h->first[team_after(&h->across, u->distance)];
    const struct team *local = &h->local;
    int n = 0;

    for (int j = 1; j < local->size; j++) {
        int to = team_after(local, -j), from = team_after(local, j);
        int mine = owners[local->place], theirs = owners[from];

        t[n++] = send_to(team_rank(local, to), at(out, (size_t)mine * size + u->offset), u->size);
        t[n++] =
            recv_from(team_rank(local, from), at(out, (size_t)theirs * size + u->offset), u->size);
    }
    return n;
}

int all_gather_hierarchical(struct group *g, char *out, size_t size, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int hosts = h->across.size, rc;
    size_t parts = size ? (size - 1) / PART + 1 : 1, units = parts * (size_t)hosts;
    struct pipeline p;

    rc = pipeline_open(&p, g, 2 * h->local.size, NULL, 0, why);
    for (size_t step = 0; !rc && step < units + PIPELINE_DEPTH; step++) {
        int n = 0;

        if (step < units) {
            struct unit u = unit_of(step, size, hosts);

            n += cross(g, out, size, &u, p.t);
        }
        if (step >= PIPELINE_DEPTH) {
            struct unit u = unit_of(step - PIPELINE_DEPTH, size, hosts);

            n += hand_round(g, out, size, &u, p.t + n);
        }
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}
