/* SPDX-License-Identifier: MIT */
#include "runtime/group/link.h"

#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/kernel/combiner.h"
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

static void link_pop(struct message_op **first, struct message_op ***end)
{
    struct message_op *t = *first;

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

/* The bytes of an element that has not all come are kept in c->parts. */
static void link_take_elements(const struct link *l, struct message_op *t,
                               const unsigned char *from, size_t size)
{
    const struct combiner *c = l->group->call.combiner;
    size_t element = c->with.size, n;

    for (; size; t->moved += n, from += n, size -= n) {
        size_t have = t->moved % element, at = t->moved - have, whole = size - size % element;
        char *part = c->parts + (size_t)l->peer * element, *to = (char *)t->buf + at;
        const char *with = (const char *)t->with + at;
        const void *came = from;

        n = whole;
        if (have || !whole) {
            n = size < element - have ? size : element - have;
            memcpy(part + have, from, n);
            came = part;
            whole = have + n == element ? element : 0;
        }
        combiner_run(c, to, t->incoming_first ? came : with, t->incoming_first ? with : came,
                     whole);
    }
}

void link_take(const struct link *l, struct message_op *t, const void *from, size_t size)
{
    unsigned char *to = (unsigned char *)t->buf + t->moved;

    if (!size)
        return; /* an empty message's buffers may be NULL */
    if (t->what == MESSAGE_OP_REDUCE && l->group->call.combiner) {
        link_take_elements(l, t, from, size);
        return;
    }
    if (t->what == MESSAGE_OP_REDUCE) {
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
