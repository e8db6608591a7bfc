/* SPDX-License-Identifier: MIT */
#include "runtime/steps/leaders.h"

#include "runtime/steps/reduce_flat.h"

#include <string.h>

struct team leaders_team(const struct hierarchy *h, int root, int *heads)
{
    for (int i = 0; i < h->leaders.size; i++)
        heads[i] = leaders_head(h, i, root);
    return (struct team){.ranks = heads, .size = h->leaders.size, .index = h->leaders.index};
}

int leaders_reduce(struct pipeline *p, int head, const void *in, void *sum, size_t size, void *work,
                   struct fault *why)
{
    const struct team *local = &p->group->hierarchy->local;
    int n = 0, rc;

    if (p->group->rank != head) {
        p->t[0] = send_to(head, in, size);
        return message_op_run(p->group, p->t, 1, why);
    }
    for (int i = 0; i < local->size; i++)
        if (i != local->index)
            p->t[n++] = recv_from(local->ranks[i], buffer_at(work, (size_t)i * size), size);
    rc = message_op_run(p->group, p->t, n, why);
    if (!rc && n)
        reduce_flat_received(&p->group->call, local, size, size, in, sum, work);
    else if (!rc && in != sum && size)
        memcpy(sum, in, size);
    return rc;
}

int leaders_spread(struct pipeline *p, int head, void *buf, size_t size, struct fault *why)
{
    const struct team *local = &p->group->hierarchy->local;
    int n = 0;

    if (p->group->rank != head)
        p->t[n++] = recv_from(head, buf, size);
    for (int i = 0; i < local->size && p->group->rank == head; i++)
        if (i != local->index)
            p->t[n++] = send_to(local->ranks[i], buf, size);
    return message_op_run(p->group, p->t, n, why);
}
