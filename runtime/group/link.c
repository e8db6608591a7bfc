/* SPDX-License-Identifier: MIT */
#include "runtime/group/link.h"

#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/process/counters_file.h"

#include <string.h>

void link_init(struct link *l, const struct link_ops *ops, struct group *g, int peer)
{
    l->ops = ops;
    l->group = g;
    l->peer = peer;
    l->sends_end = &l->sends;
    l->recvs_end = &l->recvs;
    if (g->world && g->world->counters)
        l->counters = counters_file_links(g->world->counters, g->host_of[peer], ops->name);
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
    if (l->counters)
        rank_counters_add(&l->counters->sent, l->sends->size);
    link_pop(&l->sends, &l->sends_end);
}

void link_pop_recv(struct link *l)
{
    if (l->counters)
        rank_counters_add(&l->counters->received, l->recvs->size);
    link_pop(&l->recvs, &l->recvs_end);
}

void link_take(const struct link *l, struct transfer *t, const void *from, size_t size)
{
    unsigned char *to = (unsigned char *)t->buf + t->moved;

    if (!size)
        return; /* an empty message's buffers may be NULL */
    if (t->what == TRANSFER_REDUCE) {
        const struct call *c = &l->group->call;
        const unsigned char *with = (const unsigned char *)t->with + t->moved;
        reduce_fn *reduce_them = reduce_op(c->type, c->op);
        size_t count = size / reduce_type_size(c->type);

        if (t->incoming_first)
            reduce_them(to, from, with, count);
        else
            reduce_them(to, with, from, count);
    } else {
        memmove(to, from, size); /* a rank's message to itself may overlap */
    }
    t->moved += size;
}
