/* SPDX-License-Identifier: MIT */
/*
 * relayed.c: ranks that talk to the coordinator through their host's agent (host/host_relay.h).
 * Each is a connection without a socket, with a channel by which the agent tells its ranks apart.
 */
#include "coordinator/service/relayed.h"

#include "coordinator/connection.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANNEL = 4,           /* bytes of a channel's number */
    OPENED = 3 * CHANNEL,  /* channel, rank, generation */
    CHANNELS_SPARE = 1024, /* more than there are ranks, for claims that end while others begin */
};

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return ntohl(value);
}

static struct connection *channel_find(struct connection *agent, uint32_t channel)
{
    struct connection *c = TAILQ_FIRST(&agent->relayed);

    while (c && c->channel != channel)
        c = TAILQ_NEXT(c, entry);
    return c;
}

int relayed_receive_opened(struct connection *agent, const struct frame *f, struct fault *why)
{
    struct server *s = agent->server;
    struct connection *c;
    uint32_t rank;

    if (f->size != OPENED)
        return fault_set(why, ML_ERR_REFUSED, "its RANK_OPENED is malformed");
    rank = get_u32(f->payload + CHANNEL);
    if (rank >= (uint32_t)s->size || s->host_of[rank] != agent->host)
        return fault_set(why, ML_ERR_REFUSED, "it speaks for rank %u, which is not on its host",
                         rank);
    if (channel_find(agent, get_u32(f->payload)) ||
        agent->relayed_count >= s->size + CHANNELS_SPARE)
        return fault_set(why, ML_ERR_REFUSED, "it opens a channel twice, or too many");
    c = calloc(1, sizeof(*c));
    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    c->server = s;
    c->state = CONNECTION_RANK;
    c->agent = agent;
    c->channel = get_u32(f->payload);
    c->rank = (int)rank;
    c->number = get_u32(f->payload + 2 * CHANNEL);
    TAILQ_INIT(&c->relayed);
    TAILQ_INSERT_TAIL(&agent->relayed, c, entry);
    agent->relayed_count++;
    return 0;
}

/* What comes for a channel that was dropped here was on its way then. */
int relayed_receive_sent(struct connection *agent, const struct frame *f, struct fault *why)
{
    struct connection *c;
    struct frame inner;

    if (f->size < CHANNEL + 1)
        return fault_set(why, ML_ERR_REFUSED, "its RANK_SENT is malformed");
    c = channel_find(agent, get_u32(f->payload));
    inner = (struct frame){.type = f->payload[CHANNEL],
                           .size = f->size - CHANNEL - 1,
                           .payload = f->payload + CHANNEL + 1};
    if (c && agent->server->handlers.on_frame(c, &inner, why) < 0)
        connection_cut_off(c, why);
    return 0;
}

int relayed_receive_closed(struct connection *agent, const struct frame *f, struct fault *why)
{
    struct connection *c;

    if (f->size != CHANNEL)
        return fault_set(why, ML_ERR_REFUSED, "its RANK_CLOSED is malformed");
    c = channel_find(agent, get_u32(f->payload));
    if (c)
        connection_drop(c);
    return 0;
}

void relayed_drop_all(struct connection *agent)
{
    while (!TAILQ_EMPTY(&agent->relayed))
        connection_drop(TAILQ_FIRST(&agent->relayed));
}
