/* SPDX-License-Identifier: MIT */
#include "runtime/group/exchange.h"

#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/coord_news.h"
#include "runtime/group/world.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
    struct reply reply; /* has the blobs' bytes */
    struct blob blobs[];
};

static unsigned char *put_u32(unsigned char *at, uint32_t value)
{
    value = htonl(value);
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static int exchange_tell(struct group *g, const struct blob *mine, int count, struct fault *why)
{
    size_t size = (size_t)(3 + count) * sizeof(uint32_t);
    unsigned char *payload, *at;
    int rc;

    for (int i = 0; i < count; i++)
        size += mine[i].size;
    at = payload = malloc(size);
    if (!payload)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    at = put_u32(at, g->id);
    at = put_u32(at, g->exchanges);
    at = put_u32(at, (uint32_t)count);
    for (int i = 0; i < count; i++) {
        at = put_u32(at, mine[i].size);
        if (mine[i].size)
            memcpy(at, mine[i].bytes, mine[i].size);
        at += mine[i].size;
    }
    rc = coord_events_send_bytes(g->world->coord_events, COORD_EXCHANGE, payload, (uint32_t)size,
                                 why);
    free(payload);
    return rc;
}

/* The layout is EXCHANGED in doc/protocol.md: three words, then a length and bytes for each
 * member. */
static int exchange_parse(struct exchange *x, int count, const unsigned char *at, size_t left,
                          struct fault *why)
{
    uint32_t word[3];

    if (left < sizeof(word))
        goto bad;
    memcpy(word, at, sizeof(word));
    at += sizeof(word);
    left -= sizeof(word);
    if (ntohl(word[2]) != (uint32_t)count)
        goto bad;
    for (int i = 0; i < count; i++) {
        uint32_t size;

        if (left < sizeof(size))
            goto bad;
        memcpy(&size, at, sizeof(size));
        size = ntohl(size);
        at += sizeof(size);
        left -= sizeof(size);
        if (left < size)
            goto bad;
        x->blobs[i] = (struct blob){at, size};
        at += size;
        left -= size;
    }
    return 0;
bad:
    return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to an exchange is damaged");
}

static int exchange_blobs(struct exchange **out, struct group *g, const struct blob *mine,
                          int count, int64_t deadline_ms, struct fault *why)
{
    struct exchange *x = calloc(1, sizeof(*x) + (size_t)g->size * sizeof(x->blobs[0]));
    int rc;

    if (!x)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    g->exchanges++;
    rc = exchange_tell(g, mine, count, why);
    if (!rc)
        rc = coord_events_await(g->world->coord_events, g, deadline_ms, &x->reply, why);
    if (!rc)
        rc = exchange_parse(x, g->size, x->reply.payload, x->reply.size, why);
    if (rc) {
        exchange_destroy(x);
        return rc;
    }
    *out = x;
    return 0;
}

int exchange_run(struct exchange **out, struct group *g, struct blob mine, int64_t deadline_ms,
                 struct fault *why)
{
    return exchange_blobs(out, g, &mine, 1, deadline_ms, why);
}

int exchange_run_each(struct exchange **out, struct group *g, const struct blob *mine,
                      int64_t deadline_ms, struct fault *why)
{
    return exchange_blobs(out, g, mine, g->size, deadline_ms, why);
}

struct blob exchange_blob(const struct exchange *x, int rank)
{
    return x->blobs[rank];
}

void exchange_destroy(struct exchange *x)
{
    if (!x)
        return;
    reply_clear(&x->reply);
    free(x);
}
