/* SPDX-License-Identifier: MIT */
#include "runtime/link.h"

void link_init(struct link *l, const struct link_ops *ops, struct group *g, int peer)
{
    l->ops = ops;
    l->group = g;
    l->peer = peer;
    l->sends_end = &l->sends;
    l->recvs_end = &l->recvs;
}

static void link_pop(struct transfer **first, struct transfer ***end)
{
    struct transfer *t = *first;

    *first = t->next;
    if (!*first)
        *end = first;
    t->next = NULL;
    t->done = true;
}

void link_pop_send(struct link *l)
{
    link_pop(&l->sends, &l->sends_end);
}

void link_pop_recv(struct link *l)
{
    link_pop(&l->recvs, &l->recvs_end);
}
