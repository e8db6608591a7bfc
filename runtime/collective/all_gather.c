/* SPDX-License-Identifier: MIT */
/*
 * all_gather.c: each share goes to all ranks at once; with many ranks, around a ring (long shares)
 * or in log2(size) rounds (short ones: J. Bruck, C. Ho, S. Kipnis, E. Upfal, D. Weathersby,
 * "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems", 1997).
 *
 * Every algorithm but the direct one finds this rank's share in its place in `out`.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/gather_bruck.h"
#include "runtime/steps/hierarchy.h"
#include "runtime/steps/leaders.h"
#include "runtime/steps/steps.h"

#include <string.h>

/* Sends `in` itself rather than its copy in `out`: a peer that reads a share directly
 * (shm_rendezvous.h) is slowed down if that share has just been written. Not if in == out, since
 * rank 0's share arrives there. */
static int all_gather_direct(struct group *g, const void *in, char *out, size_t size,
                             struct fault *why)
{
    char *place = buffer_at(out, (size_t)g->rank * size);
    const char *mine = in == out ? place : in;
    struct pipeline p;
    int rc = pipeline_open(&p, g, 2 * g->size, NULL, 0, why), n = 0;

    if (rc)
        return rc;
    if (mine == place && in != place && size)
        memcpy(place, in, size);
    for (int j = 1; j < g->size; j++) {
        int from = rank_after(g, j);

        p.t[n++] = send_to(rank_after(g, -j), mine, size);
        p.t[n++] = recv_from(from, buffer_at(out, (size_t)from * size), size);
    }
    rc = message_op_start(g, p.t, n, why);
    if (rc)
        return rc;
    if (mine != place && size)
        memcpy(place, mine, size);
    return message_op_wait(g, p.t, n, why);
}

static int all_gather_ring(struct group *g, char *out, size_t size, struct fault *why)
{
    const struct team m = team_ring(g);
    int next = team_rank(&m, team_after(&m, 1)), before = team_rank(&m, team_after(&m, -1)), rc;
    struct pipeline p;
    struct blocks b;

    rc = pipeline_open(&p, g, 2, NULL, 0, why);
    blocks_cut_equal(&b, g, (size_t)g->size * size, g->size);
    for (int turn = 0; !rc && turn < g->size - 1; turn++) {
        for (size_t chunk = 0; !rc && chunk < b.chunks; chunk++) {
            struct piece s = blocks_chunk(&b, team_rank(&m, team_after(&m, -turn)), chunk);
            struct piece d = blocks_chunk(&b, team_rank(&m, team_after(&m, -turn - 1)), chunk);

            p.t[0] = send_to(next, buffer_at(out, s.offset), s.size);
            p.t[1] = recv_from(before, buffer_at(out, d.offset), d.size);
            rc = pipeline_step(&p, 2, why);
        }
        if (!rc && b.chunks < PIPELINE_DEPTH) /* as in all_reduce_ring.c */
            rc = pipeline_close(&p, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* Each round doubles the number of blocks a rank has. Block i in scratch is that of rank me + i. */
static int all_gather_bruck(struct group *g, char *out, size_t size, struct fault *why)
{
    size_t have = 1, n = (size_t)g->size, behind = n - (size_t)g->rank;
    char *blocks;
    void *work;
    int rc = steps_scratch(g, &work, n * size, why);

    if (rc)
        return rc;
    blocks = work;
    if (size)
        memcpy(blocks, out + (size_t)g->rank * size, size);
    for (; !rc && have < n; have *= 2) {
        size_t more = have < n - have ? have : n - have;
        struct message_op t[] = {
            send_to(rank_after(g, -(int)have), blocks, more * size),
            recv_from(rank_after(g, (int)have), blocks + have * size, more * size),
        };

        rc = message_op_run(g, t, 2, why);
    }
    if (rc || !size)
        return rc;
    memcpy(out + (size_t)g->rank * size, blocks, behind * size);
    memcpy(out, blocks + behind * size, (size_t)g->rank * size);
    return 0;
}

/* --- hierarchical ------------------------------------------------------------------------------
 * Each share crosses to every other host once, to the rank in the same place as its owner, which
 * passes it to the others there while the next one arrives. (The first half of
 * all_reduce_hierarchical.c, backwards.) Only where g->hierarchy is set and even.
 */

enum { PART = 1 << 20 /* bytes of a share that pass through both levels at a time */ };

/* What one step moves: a part of the share that belongs to the rank in this rank's place on the
 * host `distance` behind this one. */
struct share_part {
    size_t offset, size;
    int distance;
};

static struct share_part share_part_of(size_t number, size_t size, int hosts)
{
    struct share_part u = {.offset = number / (size_t)hosts * PART,
                           .distance = (int)(number % (size_t)hosts)};

    u.size = size - u.offset < PART ? size - u.offset : PART;
    return u;
}

/* The transfers between hosts; at distance 0 there are none, because the share is this rank's own.
 * Returns how many. */
static int share_part_cross(const struct group *g, char *out, size_t size,
                            const struct share_part *u, struct message_op *t)
{
    const struct team *across = &g->hierarchy->across;
    int to = team_rank(across, team_after(across, -u->distance));
    int from = team_rank(across, team_after(across, u->distance));

    if (!u->distance)
        return 0;
    t[0] = send_to(to, buffer_at(out, (size_t)g->rank * size + u->offset), u->size);
    t[1] = recv_from(from, buffer_at(out, (size_t)from * size + u->offset), u->size);
    return 2;
}

/* The transfers on this host: each rank passes the others the one share of another host's ranks
 * that it has received. Returns how many. */
static int share_part_hand_out(const struct group *g, char *out, size_t size,
                               const struct share_part *u, struct message_op *t)
{
    const struct hierarchy *h = g->hierarchy;
    const int *owners = h->by_host + h->first[team_after(&h->across, u->distance)];
    const struct team *local = &h->local;
    int n = 0;

    for (int j = 1; j < local->size; j++) {
        int to = team_after(local, -j), from = team_after(local, j);
        int mine = owners[local->index], theirs = owners[from];

        t[n++] =
            send_to(team_rank(local, to), buffer_at(out, (size_t)mine * size + u->offset), u->size);
        t[n++] = recv_from(team_rank(local, from),
                           buffer_at(out, (size_t)theirs * size + u->offset), u->size);
    }
    return n;
}

static int all_gather_hierarchical(struct group *g, char *out, size_t size, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int hosts = h->across.size, rc;
    size_t parts = size ? (size - 1) / PART + 1 : 1, units = parts * (size_t)hosts;
    struct pipeline p;

    rc = pipeline_open(&p, g, 2 * h->local.size, NULL, 0, why);
    for (size_t step = 0; !rc && step < units + PIPELINE_DEPTH; step++) {
        int n = 0;

        if (step < units) {
            struct share_part u = share_part_of(step, size, hosts);

            n += share_part_cross(g, out, size, &u, p.t);
        }
        if (step >= PIPELINE_DEPTH) {
            struct share_part u = share_part_of(step - PIPELINE_DEPTH, size, hosts);

            n += share_part_hand_out(g, out, size, &u, p.t + n);
        }
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}

/* --- leaders -----------------------------------------------------------------------------------
 * The leader of each host gathers the shares of its host, the leaders exchange them with one
 * message for each other host, and hand out all of them. For short shares, and only where
 * g->hierarchy is set. J. Träff, "Efficient Allgather for Regular SMP-Clusters", 2006.
 */

/* The leader receives the shares of its host at `work`, which is ordered host by host. */
static int host_gather(struct pipeline *p, const char *mine, char *work, size_t size,
                       struct fault *why)
{
    const struct hierarchy *h = p->group->hierarchy;
    char *ours = buffer_at(work, (size_t)h->first[h->leaders.index] * size);
    int n = 0;

    if (size)
        memcpy(ours, mine, size); /* a leader has place 0 */
    for (int i = 1; i < h->local.size; i++)
        p->t[n++] = recv_from(h->local.ranks[i], buffer_at(ours, (size_t)i * size), size);
    return message_op_run(p->group, p->t, n, why);
}

static int hosts_exchange_bruck(struct pipeline *p, char *work, size_t size, struct piece *shares,
                                struct fault *why)
{
    const struct hierarchy *h = p->group->hierarchy;
    const int *first = h->first;

    for (int i = 0; i < h->leaders.size; i++)
        shares[i] =
            (struct piece){(size_t)first[i] * size, (size_t)(first[i + 1] - first[i]) * size};
    return gather_bruck(p, &h->leaders, work, shares, why);
}

static int hosts_exchange(struct pipeline *p, char *work, size_t size, struct fault *why)
{
    const struct hierarchy *h = p->group->hierarchy;
    const int *ours = h->first + h->leaders.index;
    int n = 0;

    for (int j = 1; j < h->leaders.size; j++) {
        int to = team_after(&h->leaders, -j), from = team_after(&h->leaders, j);
        const int *theirs = h->first + from;

        p->t[n++] = send_to(team_rank(&h->leaders, to), buffer_at(work, (size_t)ours[0] * size),
                            (size_t)(ours[1] - ours[0]) * size);
        p->t[n++] =
            recv_from(team_rank(&h->leaders, from), buffer_at(work, (size_t)theirs[0] * size),
                      (size_t)(theirs[1] - theirs[0]) * size);
    }
    return message_op_run(p->group, p->t, n, why);
}

static int all_gather_leaders(struct group *g, char *out, size_t size, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.index, -1), rc;
    char *mine = buffer_at(out, (size_t)g->rank * size);
    size_t room = (size_t)h->leaders.size * sizeof(struct piece);
    struct pipeline p;
    char *work;
    void *all;

    /* In order: where the hosts' shares are, and the shares. */
    rc = pipeline_open(&p, g, 2 * g->size, &all,
                       room + (g->rank == head ? (size_t)g->size * size : 0), why);
    if (rc)
        return rc;
    work = buffer_at(all, room);
    if (g->rank == head) {
        rc = host_gather(&p, mine, work, size, why);
        if (!rc)
            rc = h->leaders.size > ALGORITHM_FEW ? hosts_exchange_bruck(&p, work, size, all, why)
                                                 : hosts_exchange(&p, work, size, why);
        for (int i = 0; i < g->size && !rc && size; i++)
            memcpy(out + (size_t)h->by_host[i] * size, work + (size_t)i * size, size);
    } else {
        p.t[0] = send_to(head, mine, size);
        rc = message_op_run(g, p.t, 1, why);
    }
    return rc ? rc : leaders_spread(&p, head, out, (size_t)g->size * size, why);
}

int all_gather_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    char *mine = buffer_at(out, (size_t)g->rank * size);
    enum algorithm algorithm = ALGORITHM_RING;
    int rc = 0;

    if (g->size > 1)
        rc = algorithm_choose(CALL_ALL_GATHER, size, g, &algorithm, why);
    if (rc)
        return rc;
    if (algorithm == ALGORITHM_DIRECT)
        return all_gather_direct(g, in, out, size, why);
    if (in != mine && size)
        memcpy(mine, in, size);
    if (g->size == 1)
        return 0;
    switch (algorithm) {
    case ALGORITHM_BRUCK:
        return all_gather_bruck(g, out, size, why);
    case ALGORITHM_HIERARCHICAL:
        return all_gather_hierarchical(g, out, size, why);
    case ALGORITHM_LEADERS:
        return all_gather_leaders(g, out, size, why);
    default:
        return all_gather_ring(g, out, size, why);
    }
}
