/* SPDX-License-Identifier: MIT */
/* scatter.c: the root sends every rank its share directly, all at once. */
#include "runtime/collective/collectives.h"

#include "runtime/steps/steps.h"

#include <string.h>

static int scatter_all(struct group *g, const char *in, void *out, size_t size, struct fault *why)
{
    const char *mine = buffer_at(in, (size_t)g->rank * size);
    struct pipeline p;
    int rc = pipeline_open(&p, g, g->size, NULL, 0, why), n = 0;

    if (rc)
        return rc;
    for (int r = 0; r < g->size; r++)
        if (r != g->rank)
            p.t[n++] = send_to(r, buffer_at(in, (size_t)r * size), size);
    if (n)
        rc = message_op_run(g, p.t, n, why);
    if (!rc && out != mine && size) /* after the sends: out may lie over rank 0's share */
        memcpy(out, mine, size);
    return rc;
}

int scatter_run(struct group *g, const void *in, void *out, size_t size, int root,
                struct fault *why)
{
    struct message_op take;

    if (g->rank == root)
        return scatter_all(g, in, out, size, why);
    take = recv_from(root, out, size);
    return message_op_run(g, &take, 1, why);
}
