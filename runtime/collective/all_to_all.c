/* SPDX-License-Identifier: MIT */
/*
 * all_to_all.c: exchanges with all peers at once, one chunk of every block at a time. The chunks
 * are the same whether or not a rank works in place, because its peers don't know which. In place,
 * what is sent is copied first, since the peer's block arrives over it.
 */
#include "runtime/collective/collectives.h"

#include "runtime/steps/steps.h"

#include <string.h>

enum { CHUNK = 256 << 10 /* bytes */ };

/* Exchanges the chunk of `part` bytes that begins `skip` bytes into every block. aside: room for
 * the copies, or NULL. */
static int chunk_exchange(struct group *g, const char *in, char *out, size_t size, size_t skip,
                          size_t part, struct message_op *t, char *aside, struct fault *why)
{
    int n = 0;

    for (int j = 1; j < g->size; j++) {
        int to = rank_after(g, -j), from = rank_after(g, j);
        const char *source = buffer_at(in, (size_t)to * size + skip);

        if (aside) {
            char *copy = buffer_at(aside, (size_t)(j - 1) * CHUNK);

            if (part)
                memcpy(copy, source, part);
            source = copy;
        }
        t[n++] = send_to(to, source, part);
        t[n++] = recv_from(from, buffer_at(out, (size_t)from * size + skip), part);
    }
    return message_op_run(g, t, n, why);
}

int all_to_all_run(struct group *g, const void *in, void *out, size_t size, struct fault *why)
{
    size_t others = (size_t)(g->size - 1), mine = (size_t)g->rank * size, done = 0;
    bool in_place = in == out;
    struct pipeline p;
    void *aside;
    int rc;

    if (!in_place && size)
        memcpy((char *)out + mine, (const char *)in + mine, size);
    if (g->size == 1)
        return 0;
    rc = pipeline_open(&p, g, 2 * g->size, &aside, in_place ? others * CHUNK : 0, why);
    if (rc)
        return rc;
    do { /* once at least: empty messages also show calls that differ */
        size_t part = size - done < CHUNK ? size - done : CHUNK;

        rc = chunk_exchange(g, in, out, size, done, part, p.t, in_place ? aside : NULL, why);
        done += part;
    } while (!rc && done < size);
    return rc;
}
