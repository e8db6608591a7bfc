/* SPDX-License-Identifier: MIT */
/*
 * agent_exchange.c: what one agent has for all others: exchanges of bytes between hosts, and names.
 *
 * An exchange has a number that the agents agree upon. Each agent brings bytes; once the last one
 * has, all get the bytes of all hosts, one after the other in the hosts' order. Several numbers may
 * be under way at once.
 */
#include "coordinator/server.h"

#include "coordinator/protocol.h"
#include "coordinator/server_state.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXCHANGES_MOST = 8, /* under way at once */
    NUMBER = 4,         /* bytes of an exchange's number, in front of all others */
};

struct agent_share {
    bool has_come;
    uint8_t *bytes;
    size_t size;
};

struct agent_exchange {
    uint32_t number;
    int come;    /* hosts that have brought theirs */
    size_t size; /* of all bytes so far */
    struct agent_exchange *next;
    struct agent_share shares[]; /* one for each host */
};

static struct agent_exchange **exchange_find(struct server *s, uint32_t number)
{
    struct agent_exchange **at = &s->agent_exchanges;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void exchange_remove(struct server *s, struct agent_exchange **at)
{
    struct agent_exchange *x = *at;

    *at = x->next;
    for (int i = 0; i < s->hosts; i++)
        free(x->shares[i].bytes);
    free(x);
}

void agent_exchange_clear(struct server *s)
{
    while (s->agent_exchanges)
        exchange_remove(s, &s->agent_exchanges);
    names_clear(&s->names);
}

static int exchange_create(struct server *s, struct agent_exchange **at, uint32_t number,
                           struct fault *why)
{
    struct agent_exchange *x;
    int count = 0;

    for (x = s->agent_exchanges; x; x = x->next)
        count++;
    if (count == EXCHANGES_MOST)
        return fault_set(why, ML_ERR_REFUSED, "it begins more than %d exchanges at once",
                         EXCHANGES_MOST);
    x = calloc(1, sizeof(*x) + (size_t)s->hosts * sizeof(x->shares[0]));
    if (!x)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    x->number = number;
    *at = x;
    return 0;
}

/* The last host has come: all hosts get the bytes. */
static int exchange_complete(struct server *s, struct agent_exchange **at, struct fault *why)
{
    struct agent_exchange *x = *at;
    uint32_t number = x->number, word = htonl(number);
    size_t size = NUMBER;
    struct connection *c;
    uint8_t *all = malloc(NUMBER + x->size);

    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    memcpy(all, &word, NUMBER);
    for (int i = 0; i < s->hosts; i++) {
        if (x->shares[i].size > 0)
            memcpy(all + size, x->shares[i].bytes, x->shares[i].size);
        size += x->shares[i].size;
    }
    exchange_remove(s, at);
    for (c = TAILQ_FIRST(&s->known); c; c = TAILQ_NEXT(c, entry)) {
        if (c->state == CONNECTION_AGENT)
            connection_send(c, COORD_EXCHANGED, all, size);
    }
    if (s->events.on_exchanged)
        s->events.on_exchanged(number, all + NUMBER, size - NUMBER, s->events.arg);
    free(all);
    return 0;
}

/* If a rank has ended whose host has not come, that host may never come. */
static void exchange_check(struct server *s, const struct agent_exchange *x)
{
    for (int i = 0; i < s->size && s->exited > 0; i++) {
        if (s->ranks[i].has_exited && !x->shares[s->host_of[i]].has_come) {
            if (s->events.on_absent)
                s->events.on_absent(i, s->events.arg);
            return;
        }
    }
}

void agent_exchange_on_exited(struct server *s)
{
    for (const struct agent_exchange *x = s->agent_exchanges; x; x = x->next)
        exchange_check(s, x);
}

static int exchange_add(struct server *s, int host, uint32_t number, const uint8_t *bytes,
                        size_t size, struct fault *why)
{
    struct agent_exchange **at = exchange_find(s, number);
    struct agent_share *share;
    int rc = *at ? 0 : exchange_create(s, at, number, why);

    if (rc)
        return rc;
    share = &(*at)->shares[host];
    if (share->has_come)
        return fault_set(why, ML_ERR_REFUSED, "its EXCHANGE %u came twice", number);
    if ((*at)->size + size > FRAME_LIMIT - NUMBER)
        return fault_set(why, ML_ERR_REFUSED, "the hosts exchange more than %d MiB at once",
                         FRAME_LIMIT >> 20);
    if (size > 0) {
        share->bytes = malloc(size);
        if (!share->bytes)
            return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
        memcpy(share->bytes, bytes, size);
    }
    share->has_come = true;
    share->size = size;
    (*at)->size += size;
    if (++(*at)->come == s->hosts)
        return exchange_complete(s, at, why);
    exchange_check(s, *at);
    return 0;
}

int server_share(struct server *s, uint32_t number, const void *bytes, size_t size,
                 struct fault *why)
{
    return exchange_add(s, s->host_of[0], number, bytes, size, why);
}

bool server_name(struct server *s, const char *what, const char *service, const char **port)
{
    return names_take(&s->names, what, service, port);
}

int agent_exchange_receive(struct connection *c, const struct frame *f, struct fault *why)
{
    uint32_t number;

    if (f->size < NUMBER)
        return fault_set(why, ML_ERR_REFUSED, "its EXCHANGE is malformed");
    memcpy(&number, f->payload, NUMBER);
    return exchange_add(c->server, c->host, ntohl(number), f->payload + NUMBER, f->size - NUMBER,
                        why);
}

int agent_exchange_receive_name(struct connection *c, json_t *message, struct fault *why)
{
    const char *what, *service, *port = NULL;
    json_int_t ask;
    bool is_done;

    if (json_unpack(message, "{s:I, s:s, s:s, s?s}", "ask", &ask, "what", &what, "service",
                    &service, "port", &port))
        return fault_set(why, ML_ERR_REFUSED, "its NAME is malformed");
    is_done = names_take(&c->server->names, what, service, &port);
    connection_send_json(c, COORD_NAMED,
                         json_pack("{s:I, s:b, s:s}", "ask", ask, "done", (int)is_done, "port",
                                   is_done && port ? port : ""));
    return 0;
}
