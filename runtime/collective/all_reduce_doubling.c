/* SPDX-License-Identifier: MIT */
/*
 * all_reduce_doubling.c: recursive doubling. In round k, ranks that differ in bit k exchange what
 * they have, and both reduce it. log2(size) rounds of the whole vector, best for short ones. R.
 * Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in
 * MPICH", 2005, §4.5. Sizes that aren't powers of two are folded as there: of the first 2 * rest
 * ranks, each odd one sends its vector to the even one before it, and receives the result
 * afterwards.
 *
 * Both partners compute lower rank op higher rank, so all ranks end with the same bits. Long
 * vectors come here if there are many ranks and an operator that is not commutative, and go in
 * segments.
 */
#include "runtime/collective/all_reduce.h"

#include "runtime/steps/steps.h"

#include <string.h>

enum { SEGMENT = 4 << 20 /* bytes */ };

struct fold {
    int rounds; /* 2^rounds ranks take part in the doubling */
    int rest;   /* ranks beyond them */
};

static struct fold fold_of(int size)
{
    struct fold f = {0, 0};

    while (size >> (f.rounds + 1))
        f.rounds++;
    f.rest = size - (1 << f.rounds);
    return f;
}

/* The place that has number `i` among those that take part in the doubling; and the reverse. */
static int fold_rank(struct fold f, int i)
{
    return i < f.rest ? 2 * i : i + f.rest;
}

static int fold_number(struct fold f, int index)
{
    return index < 2 * f.rest ? index / 2 : index - f.rest;
}

/* What an odd rank of the first 2 * rest does: sends its vector and waits for the result. */
static int fold_stand_aside(struct group *g, int peer, const void *in, void *out, size_t size,
                            struct fault *why)
{
    struct message_op give = send_to(peer, in, size);
    struct message_op take = recv_from(peer, out, size);
    int rc = message_op_run(g, &give, 1, why);

    return rc ? rc : message_op_run(g, &take, 1, why);
}

int all_reduce_doubling_team(struct group *g, const struct team *m, const void *in, void *out,
                             size_t size, void *work, struct fault *why)
{
    struct fold f = fold_of(m->size);
    bool has_odd = m->index < 2 * f.rest; /* the next place, an odd one, takes no part */
    int number = fold_number(f, m->index), rc = 0;
    const void *mine = in;

    if (has_odd && m->index % 2)
        return fold_stand_aside(g, team_rank(m, m->index - 1), in, out, size, why);
    /* Two buffers in turn: what is being sent must not change before it has left. */
    if (has_odd) {
        struct message_op take =
            reduce_from(g, team_rank(m, m->index + 1), (char *)work + size, in, size);

        rc = message_op_run(g, &take, 1, why);
        mine = (char *)work + size;
    }
    for (int k = 0; !rc && k < f.rounds; k++) {
        int peer = team_rank(m, fold_rank(f, number ^ 1 << k));
        char *next = (char *)work + (k % 2 ? size : 0);
        struct message_op t[] = {
            send_to(peer, mine, size),
            reduce_from(g, peer, next, mine, size),
        };

        rc = message_op_run(g, t, 2, why);
        mine = next;
    }
    if (rc)
        return rc;
    if (size)
        memcpy(out, mine, size);
    if (has_odd) {
        struct message_op give = send_to(team_rank(m, m->index + 1), out, size);

        rc = message_op_run(g, &give, 1, why);
    }
    return rc;
}

int all_reduce_doubling(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    const struct team all = {.size = g->size, .index = g->rank};
    size_t segment = blocks_part(g, SEGMENT), offset = 0;
    void *work;
    int rc = steps_scratch(g, &work, 2 * (size < segment ? size : segment), why);

    do { /* once at least, as in all_reduce_hierarchical.c */
        size_t part = size - offset < segment ? size - offset : segment;

        if (!rc)
            rc = all_reduce_doubling_team(g, &all, buffer_at(in, offset), buffer_at(out, offset),
                                          part, work, why);
        offset += part;
    } while (!rc && offset < size);
    return rc;
}
