/* SPDX-License-Identifier: MIT */
/* gather.c: every rank sends its share to the root directly, all at once, since every pair of ranks
 * has a link. */
#include "runtime/collective/collectives.h"

#include "runtime/steps/steps.h"

#include <string.h>

static int gather_all(struct group *g, const void *in, char *out, size_t size, struct fault *why)
{
    char *mine = buffer_at(out, (size_t)g->rank * size);
    struct pipeline p;
    int rc = pipeline_open(&p, g, g->size, NULL, 0, why), n = 0;

    if (rc)
        return rc;
    if (in != mine && size) /* before the receives: if in == out, rank 0's share arrives there */
        memcpy(mine, in, size);
    for (int r = 0; r < g->size; r++)
        if (r != g->rank)
            p.t[n++] = recv_from(r, buffer_at(out, (size_t)r * size), size);
    return n ? message_op_run(g, p.t, n, why) : 0;
}

int gather_run(struct group *g, const void *in, void *out, size_t size, int root, struct fault *why)
{
    struct message_op give;

    if (g->rank == root)
        return gather_all(g, in, out, size, why);
    give = send_to(root, in, size);
    return message_op_run(g, &give, 1, why);
}
