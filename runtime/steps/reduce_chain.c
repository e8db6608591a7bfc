/* SPDX-License-Identifier: MIT */
#include "runtime/steps/reduce_chain.h"

/* Chunks in scratch: one stays PIPELINE_DEPTH steps until it is sent, and as many until it has
 * left. */
enum { WINDOW = 2 * PIPELINE_DEPTH };

struct reduce_chain reduce_chain_up(const struct group *g, int first, const void *in, void *sums)
{
    int before = g->rank == first ? -1 : g->rank - 1, next = g->rank + 1;

    return (struct reduce_chain){before, next < g->size ? next : -1, in, sums, true};
}

/* The more ranks, the shorter the chunks. */
static size_t chunk_of(const struct group *g, size_t size)
{
    struct blocks b;

    blocks_cut(&b, g, size, g->size);
    return b.chunk;
}

size_t reduce_chain_room(const struct group *g, size_t size)
{
    return WINDOW * chunk_of(g, size);
}

int reduce_chain_run(const struct reduce_chain *c, struct pipeline *p, size_t size,
                     struct fault *why)
{
    const struct group *g = p->group;
    size_t chunk = chunk_of(g, size), chunks = size ? (size - 1) / chunk + 1 : 1;
    size_t lag = c->before < 0 ? 0 : PIPELINE_DEPTH;
    size_t window = c->is_whole ? chunks : WINDOW;
    int rc = 0;

    for (size_t step = 0; !rc && step < chunks + (c->next < 0 ? 0 : lag); step++) {
        size_t done = step - lag, offset = step * chunk;
        int n = 0;

        if (c->before >= 0 && step < chunks) {
            p->t[n] = reduce_from(g, c->before, buffer_at(c->sums, step % window * chunk),
                                  buffer_at(c->in, offset),
                                  size - offset < chunk ? size - offset : chunk);
            p->t[n++].incoming_first = true; /* the order of the chain */
        }
        if (c->next >= 0 && step >= lag) {
            const void *from = c->before < 0 ? buffer_at(c->in, done * chunk)
                                             : buffer_at(c->sums, done % window * chunk);
            size_t left = size - done * chunk;

            p->t[n++] = send_to(c->next, from, left < chunk ? left : chunk);
        }
        rc = pipeline_step(p, n, why);
    }
    return rc ? rc : pipeline_close(p, why);
}
