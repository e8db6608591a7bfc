/* SPDX-License-Identifier: MIT */
#include "runtime/transport/self_link.h"

#include "runtime/group/group.h"
#include "runtime/group/message.h"

#include <stdlib.h>
#include <string.h>

/* A message that was sent before its receive was called. */
struct kept_message {
    struct kept_message *next;
    struct message header;
    unsigned char payload[];
};

struct self_link {
    struct link base;
    struct kept_message *first, **end;
};

static struct self_link *self_link_of(struct link *l)
{
    return (struct self_link *)l;
}

static int self_link_receive_kept(struct self_link *s, struct fault *why)
{
    struct kept_message *m = s->first;
    int rc = message_check(s->base.group, &m->header, s->base.recvs, why);

    if (rc)
        return rc;
    link_take(&s->base, s->base.recvs, m->payload, s->base.recvs->size);
    s->first = m->next;
    if (!s->first)
        s->end = &s->first;
    free(m);
    link_pop_recv(&s->base);
    return 1;
}

static int self_link_keep(struct self_link *s, struct fault *why)
{
    struct message_op *t = s->base.sends;
    struct kept_message *m = NULL;

    if (t->size <= SIZE_MAX - sizeof(*m))
        m = malloc(sizeof(*m) + t->size);
    if (!m)
        return fault_set(why, ML_ERR_MEMORY,
                         "out of memory: rank %d cannot keep the %zu bytes it sends to itself",
                         s->base.group->members[s->base.group->rank], t->size);
    m->next = NULL;
    message_fill(&m->header, &s->base.group->call, t);
    if (t->size)
        memcpy(m->payload, t->buf, t->size);
    *s->end = m;
    s->end = &m->next;
    link_pop_send(&s->base);
    return 1;
}

static int self_link_match(struct self_link *s, struct fault *why)
{
    struct message header;
    int rc;

    message_fill(&header, &s->base.group->call, s->base.sends);
    rc = message_check(s->base.group, &header, s->base.recvs, why);
    if (rc)
        return rc;
    link_take(&s->base, s->base.recvs, s->base.sends->buf, s->base.recvs->size);
    link_pop_send(&s->base);
    link_pop_recv(&s->base);
    return 1;
}

static int self_link_progress(struct link *l, struct fault *why)
{
    struct self_link *s = self_link_of(l);
    int moved = 0, rc;

    for (;;) {
        if (l->recvs && s->first)
            rc = self_link_receive_kept(s, why);
        else if (l->recvs && l->sends)
            rc = self_link_match(s, why);
        else if (l->sends)
            rc = self_link_keep(s, why);
        else
            return moved;
        if (rc < 0)
            return rc;
        moved = 1;
    }
}

static int self_link_sleep(struct link *l, struct pollfd *p)
{
    (void)l, (void)p;
    return 0;
}

static void self_link_wake(struct link *l)
{
    (void)l;
}

static void self_link_close(struct link *l)
{
    struct self_link *s = self_link_of(l);

    while (s->first) {
        struct kept_message *m = s->first;

        s->first = m->next;
        free(m);
    }
    free(s);
}

static const struct link_ops self_link_ops = {
    .name = "self",
    .progress = self_link_progress,
    .sleep = self_link_sleep,
    .wake = self_link_wake,
    .close = self_link_close,
};

int self_link_open(struct link **out, struct group *g, struct fault *why)
{
    struct self_link *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    link_init(&s->base, &self_link_ops, g, g->rank);
    s->end = &s->first;
    *out = &s->base;
    return 0;
}
