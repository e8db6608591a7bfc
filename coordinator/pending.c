/* SPDX-License-Identifier: MIT */
/*
 * pending.c: which of the connections without a proof is pushed out when there are too many.
 *
 * They are kept by the address that they come from, and the address that holds the most of them
 * loses one first, so a flood from one address costs that address. What ranks of that address
 * share with the flood is time: their connection is pushed out only after all older ones of its
 * kind. There are two kinds, silent ones and those whose handshake has begun. The silent ones go
 * first, unless the others are more than half of what may be pending, so strangers who send a HELLO
 * (there is no secret in it) cannot leave those who have just connected without the time to send
 * theirs.
 */
#include "coordinator/server_state.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING_MOST = 1024 /* plus twice the ranks */ };

/* The address without what one stranger can choose freely: of an IPv6 address the network, and
 * 127.0.0.0/8 is one address. */
static uint64_t pending_key(const struct address *from)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from->storage;
    uint64_t key = 0;

    if (from->storage.ss_family == AF_INET6)
        memcpy(&key, &v6->sin6_addr, sizeof(key));
    else if (from->storage.ss_family == AF_INET)
        key = ntohl(v4->sin_addr.s_addr);
    return from->storage.ss_family == AF_INET && key >> 24 == 127 ? 127 : key;
}

int pending_most(const struct server *s)
{
    return PENDING_MOST + 2 * s->size;
}

int pending_add(struct connection *c, const struct address *from)
{
    struct server *s = c->server;
    uint64_t key = pending_key(from);
    struct pending_source *source;

    source = TAILQ_FIRST(&s->pending);
    while (source && source->key != key)
        source = TAILQ_NEXT(source, entry);
    if (!source) {
        source = calloc(1, sizeof(*source));
        if (!source)
            return ML_ERR_MEMORY;
        source->key = key;
        TAILQ_INIT(&source->silent);
        TAILQ_INIT(&source->begun);
        TAILQ_INSERT_TAIL(&s->pending, source, entry);
    }
    c->source = source;
    TAILQ_INSERT_TAIL(&source->silent, c, entry);
    source->count++;
    s->pending_count++;
    return 0;
}

void pending_begin(struct connection *c)
{
    TAILQ_REMOVE(&c->source->silent, c, entry);
    TAILQ_INSERT_TAIL(&c->source->begun, c, entry);
    c->has_begun = true;
    c->source->begun_count++;
}

void pending_remove(struct connection *c)
{
    struct pending_source *source = c->source;

    TAILQ_REMOVE(c->has_begun ? &source->begun : &source->silent, c, entry);
    source->begun_count -= c->has_begun;
    c->source = NULL;
    c->server->pending_count--;
    if (--source->count > 0)
        return;
    TAILQ_REMOVE(&c->server->pending, source, entry);
    free(source);
}

struct connection *pending_first_out(const struct server *s)
{
    struct pending_source *most = TAILQ_FIRST(&s->pending), *source = most;

    if (!most)
        return NULL;
    while ((source = TAILQ_NEXT(source, entry)) != NULL)
        if (source->count > most->count)
            most = source;
    if (TAILQ_EMPTY(&most->silent) || most->begun_count > pending_most(s) / 2)
        return TAILQ_FIRST(&most->begun);
    return TAILQ_FIRST(&most->silent);
}
