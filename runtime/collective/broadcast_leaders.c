/* SPDX-License-Identifier: MIT */
/*
 * broadcast_leaders.c: the message crosses the network once for each host: down a binomial tree of hosts, chunk by chunk, and
 * each host's head gives what it has to the others there. (M. Bernaschi, G. Iannello, "Collective communication operations:
 * experimental results vs. theory", 1998, for trees that know of nodes.)
 */
#include "runtime/collective/broadcast.h"

#include "runtime/steps/leaders.h"

enum { CHUNK = 1 << 20 /* bytes: a second-level cache still has it when it goes on */ };

/* A rank's part: from whom it gets the message, and to whom it gives it. */
struct part {
    int from; /* -1: it is the root */
    int *to, count;
};

/* Hosts are counted from the root's; children as in broadcast.c, the farthest first, then the others of this host. */
static void part_make(struct part *t, const struct group *g, int root)
{
    const struct hierarchy *h = g->hierarchy;
    int hosts = h->leaders.size, first = h->host_of[root], bit = 1;
    int me = (h->leaders.place - first + hosts) % hosts;

    t->count = 0;
    t->from = leaders_head(h, h->leaders.place, root);
    if (g->rank != t->from)
        return;
    while (bit < hosts && !(me & bit))
        bit *= 2;
    t->from = me ? leaders_head(h, (me - bit + first) % hosts, root) : -1;
    for (bit /= 2; bit; bit /= 2)
        if (me + bit < hosts)
            t->to[t->count++] = leaders_head(h, (me + bit + first) % hosts, root);
    for (int i = 0; i < h->local.size; i++)
        if (i != h->local.place)
            t->to[t->count++] = h->local.ranks[i];
}

/* What came PIPELINE_DEPTH steps ago goes on; the root has it all. */
int broadcast_leaders(struct group *g, char *buf, size_t size, int root, struct fault *why)
{
    size_t chunks = size ? (size - 1) / CHUNK + 1 : 1, lag;
    struct pipeline p;
    struct part part;
    void *work;
    int rc = pipeline_open(&p, g, g->size, &work, (size_t)g->size * sizeof(*part.to), why);

    if (rc)
        return rc;
    part.to = work;
    part_make(&part, g, root);
    lag = part.from < 0 ? 0 : PIPELINE_DEPTH;
    for (size_t step = 0; !rc && step < chunks + (part.count ? lag : 0); step++) {
        size_t offset = step * CHUNK, left = size - offset;
        int n = 0;

        if (part.from >= 0 && step < chunks)
            p.t[n++] = recv_from(part.from, at(buf, offset), left < CHUNK ? left : CHUNK);
        offset -= lag * CHUNK;
        left = size - offset;
        for (int i = 0; i < part.count && step >= lag; i++)
            p.t[n++] = send_to(part.to[i], at(buf, offset), left < CHUNK ? left : CHUNK);
        rc = pipeline_step(&p, n, why);
    }
    return rc ? rc : pipeline_close(&p, why);
}
