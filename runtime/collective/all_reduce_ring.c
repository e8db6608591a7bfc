/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_ring.c: each rank exchanges messages with its two neighbours only. A block goes around
 * the ring once and is reduced on the way, then once more as the result. The same bytes as
 * all_reduce_direct.c, but only between neighbours: for large groups, where n - 1 streams into one
 * host would collide. Patarasuk and Yuan 2009.
 *
 * Block b starts at the ring's rank b and meets the ranks in the order of the ring, on one path,
 * which gives the same bits everywhere.
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/hierarchy.h"
#include "runtime/steps/steps.h"

struct ring {
    struct team team;
    struct blocks blocks;
    const char *in;
    char *out;
};

/* The two transfers of a chunk in a turn: turns 0 … n - 2 reduce, turns n - 1 … 2n - 3 pass results
 * on. */
static void ring_step(const struct ring *r, int turn, size_t chunk, struct message_op *t)
{
    const struct team *m = &r->team;
    int n = m->size, sent = ((m->index - turn) % n + n) % n, got = (sent + n - 1) % n;
    struct piece s = blocks_chunk(&r->blocks, sent, chunk);
    struct piece d = blocks_chunk(&r->blocks, got, chunk);

    t[0] = send_to(team_rank(m, team_after(m, 1)), buffer_at(turn == 0 ? r->in : r->out, s.offset),
                   s.size);
    t[1] = recv_from(team_rank(m, team_after(m, -1)), buffer_at(r->out, d.offset), d.size);
    if (turn < n - 1) {
        t[1].what = MESSAGE_OP_REDUCE;
        t[1].with = buffer_at(r->in, d.offset);
        t[1].incoming_first = true; /* the order of the ring */
    }
}

int all_reduce_ring(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    struct ring r = {.team = team_ring(g), .in = in, .out = out};
    struct pipeline p;
    int rc = pipeline_open(&p, g, 2, NULL, 0, why);

    blocks_cut(&r.blocks, g, size, g->size);
    for (int turn = 0; !rc && turn < 2 * (g->size - 1); turn++) {
        for (size_t chunk = 0; !rc && chunk < r.blocks.chunks; chunk++) {
            ring_step(&r, turn, chunk, p.t);
            rc = pipeline_step(&p, 2, why);
        }
        /* The next turn sends what this one receives, which with fewer chunks than the pipeline is
         * deep would not have arrived yet. */
        if (!rc && r.blocks.chunks < PIPELINE_DEPTH)
            rc = pipeline_close(&p, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}
