/* SPDX-License-Identifier: MIT */
#include "coordinator/host/host_relay.h"

#include "common/net/address.h"
#include "coordinator/connection.h"
#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"
#include "coordinator/service/receive.h"
#include "coordinator/service/server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    HEAD = 5,              /* what RANK_SENT has in front of a frame's payload */
    UNSENT_MOST = 4 << 20, /* to the coordinator: more is not read from the ranks */
    UNREAD_MOST = 3 * FRAME_LIMIT,
    SHARED_LEAST = 4096, /* a shorter payload is copied for each rank */
};

struct host_relay {
    struct server *server; /* its connections are those of the ranks */
    struct agent_client *client;
    int host;
    int (*rank_of_process)(pid_t pid, void *arg);
    void *arg;
    size_t unread_most;
    uint32_t channels; /* so far */
    bool is_paused;    /* nothing is read from ranks until the coordinator has read more */
    bool is_lost;
};

/* A payload that several ranks get. */
struct shared_bytes {
    int users;
    uint8_t bytes[];
};

static void shared_release(const void *bytes, size_t size, void *arg)
{
    struct shared_bytes *s = arg;

    (void)bytes, (void)size;
    if (--s->users == 0)
        free(s);
}

static int process_rank(const struct host_relay *r, struct connection *c)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    /* Pid 0: a process of a pid namespace that is not below this one. */
    if (getsockopt(bufferevent_getfd(c->stream), SOL_SOCKET, SO_PEERCRED, &who, &size) ||
        who.pid == 0)
        return -1;
    return r->rank_of_process(who.pid, r->arg);
}

static bool relay_on_identity(struct connection *c, const struct auth_identity *id, char *text,
                              size_t size)
{
    struct host_relay *r = c->server->relay;
    int rank = process_rank(r, c);

    if (strcmp(id->purpose, "rank") != 0 || id->rank >= c->server->size ||
        c->server->host_of[id->rank] != r->host) {
        snprintf(text, size, "the agent of this host expects no %s %d", id->purpose, id->rank);
        return false;
    }
    if (rank >= 0 && rank != id->rank) {
        snprintf(text, size, "the process belongs to rank %d and claims to be rank %d", rank,
                 id->rank);
        return false;
    }
    if (r->is_lost) {
        snprintf(text, size, "the connection to the job's coordinator was lost");
        return false;
    }
    c->state = CONNECTION_RANK;
    c->rank = id->rank;
    c->number = id->generation;
    c->channel = r->channels++;
    agent_client_rank_opened(r->client, c->channel, c->rank, c->number);
    return true;
}

static void ranks_read(struct host_relay *r, bool is_on)
{
    struct connection *c;

    r->is_paused = !is_on;
    TAILQ_FOREACH(c, &r->server->known, entry)
    {
        if (is_on)
            bufferevent_enable(c->stream, EV_READ);
        else
            bufferevent_disable(c->stream, EV_READ);
    }
}

static int relay_on_frame(struct connection *c, const struct frame *f, struct fault *why)
{
    struct host_relay *r = c->server->relay;

    /* The coordinator's host may be what it can't reach. */
    if (f->type == COORD_UNREACHED || f->type == COORD_ALONE)
        return receive_frame(c, f, why);
    if (f->size > FRAME_LIMIT - HEAD)
        return fault_set(why, ML_ERR_REFUSED, "it sent a message of %u bytes", f->size);
    agent_client_rank_sent(r->client, c->channel, f);
    if (agent_client_unsent(r->client) <= UNSENT_MOST)
        return 0;
    if (r->is_paused)
        bufferevent_disable(c->stream, EV_READ); /* it has come since */
    else
        ranks_read(r, false);
    return 0;
}

static void relay_on_closed(struct connection *c, enum connection_state was)
{
    struct host_relay *r = c->server->relay;

    (void)was;
    if (!r->is_lost)
        agent_client_rank_closed(r->client, c->channel);
}

int host_relay_open(struct host_relay **out, struct event_base *base, struct agent_client *client,
                    const struct host_relay_config *config, struct fault *why)
{
    const struct server_config server = {.job = config->job,
                                         .secret = config->secret,
                                         .size = config->size,
                                         .most = config->most,
                                         .hosts = config->hosts,
                                         .host_of = config->host_of,
                                         .host_names = config->host_names,
                                         .directory = config->directory};
    const struct server_events events = {.on_refused = config->on_refused,
                                         .on_unreached = config->on_unreached,
                                         .on_alone = config->on_alone,
                                         .arg = config->arg};
    struct host_relay *r = calloc(1, sizeof(*r));
    struct address at;
    int listener, rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *r =
        (struct host_relay){.client = client,
                            .host = config->host,
                            .rank_of_process = config->rank_of_process,
                            .arg = config->arg,
                            .unread_most = config->unread_most ? config->unread_most : UNREAD_MOST};
    rc = address_make_local(&at, config->directory, COORD_SOCKET, why);
    if (!rc)
        rc = server_create(&r->server, base, &server, &events, why);
    if (!rc)
        rc = address_listen_local(&at, BACKLOG, &listener, why);
    if (!rc) {
        r->server->relay = r;
        r->server->handlers.on_identity = relay_on_identity;
        r->server->handlers.on_frame = relay_on_frame;
        r->server->handlers.on_closed = relay_on_closed;
        rc = server_listen(r->server, listener, why);
    }
    if (rc)
        host_relay_close(r);
    else
        *out = r;
    return rc;
}

void host_relay_place(struct host_relay *r, int host, const char *name)
{
    server_host_place(r->server, host, name);
}

void host_relay_grow(struct host_relay *r, int host)
{
    server_grow(r->server, host);
}

void host_relay_close(struct host_relay *r)
{
    struct address at;

    if (!r)
        return;
    r->is_lost = true; /* the client may be closed already */
    if (r->server && r->server->door.listener >= 0 &&
        address_make_local(&at, r->server->directory, COORD_SOCKET, NULL) == 0)
        unlink(((const struct sockaddr_un *)&at.storage)->sun_path);
    server_close(r->server);
    free(r);
}

static struct connection *channel_find(struct host_relay *r, uint32_t channel)
{
    struct connection *c;

    TAILQ_FOREACH(c, &r->server->known, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (c->channel == channel)
            return c;
    }
    return NULL;
}

static void rank_send(struct connection *c, uint8_t type, const void *payload, size_t size,
                      struct shared_bytes *shared)
{
    struct evbuffer *out = bufferevent_get_output(c->stream);
    uint8_t header[FRAME_HEADER];
    struct fault why;

    if (evbuffer_get_length(out) + size > c->server->relay->unread_most) {
        fault_set(&why, ML_ERR_REFUSED, "it does not read what the coordinator has sent");
        connection_cut_off(c, &why);
        return;
    }
    if (!shared) {
        connection_send(c, type, payload, size);
        return;
    }
    frame_header(header, type, (uint32_t)size);
    shared->users++;
    if (bufferevent_write(c->stream, header, sizeof(header)) ||
        evbuffer_add_reference(out, shared->bytes, size, shared_release, shared)) {
        shared->users--;
        connection_give_up(c);
    }
}

void host_relay_to_ranks(struct host_relay *r, const uint8_t *channels, uint32_t count,
                         uint8_t type, const void *payload, size_t size)
{
    struct shared_bytes *shared = NULL;
    uint8_t number[COPY_NUMBER];

    if (type == COORD_EXCHANGED && connection_share(r->server, (int)count, payload, size, number)) {
        type = COORD_EXCHANGED_COPY;
        payload = number;
        size = sizeof(number);
    }
    if (count > 1 && size >= SHARED_LEAST)
        shared = malloc(sizeof(*shared) + size);
    if (shared) {
        shared->users = 1;
        memcpy(shared->bytes, payload, size);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct connection *c;
        uint32_t channel;

        memcpy(&channel, channels + i * sizeof(channel), sizeof(channel));
        c = channel_find(r, ntohl(channel));
        if (c)
            rank_send(c, type, payload, size, shared);
    }
    if (shared)
        shared_release(NULL, 0, shared);
}

void host_relay_rank_dropped(struct host_relay *r, uint32_t channel)
{
    struct connection *c = channel_find(r, channel);

    if (c)
        connection_drop(c);
}

void host_relay_drained(struct host_relay *r)
{
    if (r->is_paused)
        ranks_read(r, true);
}

void host_relay_lost(struct host_relay *r)
{
    r->is_lost = true;
    while (!TAILQ_EMPTY(&r->server->known))
        connection_drop(TAILQ_FIRST(&r->server->known));
}
