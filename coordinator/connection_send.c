/* SPDX-License-Identifier: MIT */
/* connection_send.c: frames to one rank or agent, and to several ranks, of which those of one host
 * get theirs through their agent in one message. */
#include "coordinator/connection_send.h"

#include "common/net/shared_copy.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CHANNEL = 4,                 /* bytes of a channel's number */
    TO_RANKS_HEAD = 1 + CHANNEL, /* type, number of channels */
};

static void put_u32(uint8_t *at, uint32_t value)
{
    value = htonl(value);
    memcpy(at, &value, sizeof(value));
}

void connection_give_up(struct connection *c)
{
    if (c && c->agent) /* a frame that is cut spoils the agent's stream for all its ranks */
        c = c->agent;
    if (c && c->state != CONNECTION_CLOSED)
        shutdown(bufferevent_getfd(c->stream), SHUT_RDWR);
}

static bool is_open(const struct connection *c)
{
    return c && c->state != CONNECTION_CLOSED;
}

void connection_cast_add(struct connection *to)
{
    struct connection *agent = is_open(to) ? to->agent : NULL;
    uint8_t *more;

    if (!agent || agent->state == CONNECTION_CLOSED)
        return;
    if (agent->cast_count == agent->cast_room) {
        size_t room = agent->cast_room * 2 + 16;

        more = realloc(agent->cast, room * CHANNEL);
        if (!more) {
            connection_give_up(agent);
            return;
        }
        agent->cast = more;
        agent->cast_room = room;
    }
    put_u32(agent->cast + agent->cast_count++ * CHANNEL, to->channel);
}

/* Sends the frame to all ranks that connection_cast_add() has named at this agent. */
static void cast_to_agent(struct connection *agent, uint8_t type, const void *payload, size_t size)
{
    uint8_t head[FRAME_HEADER + TO_RANKS_HEAD];
    size_t channels = agent->cast_count * CHANNEL;

    frame_header(head, COORD_TO_RANKS, (uint32_t)(TO_RANKS_HEAD + channels + size));
    head[FRAME_HEADER] = type;
    put_u32(head + FRAME_HEADER + 1, (uint32_t)agent->cast_count);
    agent->cast_count = 0;
    if (bufferevent_write(agent->stream, head, sizeof(head)) ||
        bufferevent_write(agent->stream, agent->cast, channels) ||
        bufferevent_write(agent->stream, payload, size))
        connection_give_up(agent);
}

void connection_cast_send(struct connection *to, uint8_t type, const void *payload, size_t size)
{
    if (!is_open(to))
        return;
    if (!to->agent)
        connection_send(to, type, payload, size);
    else if (to->agent->state != CONNECTION_CLOSED && to->agent->cast_count > 0)
        cast_to_agent(to->agent, type, payload, size);
}

void connection_send(struct connection *c, uint8_t type, const void *payload, size_t size)
{
    uint8_t header[FRAME_HEADER];

    if (!c || c->state == CONNECTION_CLOSED)
        return;
    if (c->agent) {
        connection_cast_add(c);
        connection_cast_send(c, type, payload, size);
        return;
    }
    frame_header(header, type, (uint32_t)size);
    /* After a frame that is missing or cut the peer would wait for ever, or read nonsense. */
    if (bufferevent_write(c->stream, header, sizeof(header)) ||
        bufferevent_write(c->stream, payload, size))
        connection_give_up(c);
}

void connection_send_json(struct connection *c, uint8_t type, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);

    if (text)
        connection_send(c, type, text, strlen(text));
    else
        connection_give_up(c);
    free(text);
    json_decref(message);
}

bool connection_share(struct server *s, int readers, const void *payload, size_t size,
                      uint8_t number[COPY_NUMBER])
{
    struct fault why;

    if (!s->directory || readers < 2 || size < SHARED_COPY_LEAST ||
        shared_copy_write(s->directory, s->copies, readers, payload, size, &why))
        return false;
    put_u32(number, s->copies++);
    return true;
}

size_t connection_cast_most(const struct server *s)
{
    return FRAME_LIMIT - TO_RANKS_HEAD - (size_t)s->size * CHANNEL;
}
