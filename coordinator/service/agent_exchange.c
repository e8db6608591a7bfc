/* SPDX-License-Identifier: MIT */
/*
 * agent_exchange.c: what agents have for each other: exchanges of bytes between all hosts, bytes
 * that are passed to one of them, and names.
 *
 * An exchange has a number that the agents agree upon. Each agent brings bytes; once the last one
 * has, all get the bytes of all hosts, one after the other in the hosts' order. Several numbers may
 * be under way at once.
 */
#include "coordinator/service/agent_exchange.h"

#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"

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
    int hosts;   /* the job's when it began */
    int come;    /* hosts that have brought theirs */
    size_t size; /* bytes so far */
    struct agent_exchange *next;
    struct agent_share shares[]; /* one for each of these hosts */
};

struct agent_pass {
    int to, from; /* hosts */
    size_t size;
    struct agent_pass *next;
    uint8_t bytes[];
};

static struct agent_exchange **exchange_find(struct server *s, uint32_t number)
{
    struct agent_exchange **at = &s->agents.exchanges;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void exchange_remove(struct agent_exchange **at)
{
    struct agent_exchange *x = *at;

    *at = x->next;
    for (int i = 0; i < x->hosts; i++)
        free(x->shares[i].bytes);
    free(x);
}

void agent_exchange_clear(struct server *s)
{
    struct agent_pass *p;

    while (s->agents.exchanges)
        exchange_remove(&s->agents.exchanges);
    while ((p = s->agents.passes)) {
        s->agents.passes = p->next;
        free(p);
    }
    names_clear(&s->agents.names);
}

static int exchange_create(struct server *s, struct agent_exchange **at, uint32_t number,
                           struct fault *why)
{
    struct agent_exchange *x;
    int count = 0;

    for (x = s->agents.exchanges; x; x = x->next)
        count++;
    if (count == EXCHANGES_MOST)
        return fault_set(why, ML_ERR_REFUSED, "it begins more than %d exchanges at once",
                         EXCHANGES_MOST);
    x = calloc(1, sizeof(*x) + (size_t)s->hosts * sizeof(x->shares[0]));
    if (!x)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    x->number = number;
    x->hosts = s->hosts;
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
    for (int i = 0; i < x->hosts; i++) {
        if (x->shares[i].size > 0)
            memcpy(all + size, x->shares[i].bytes, x->shares[i].size);
        size += x->shares[i].size;
    }
    exchange_remove(at);
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
        if (s->ranks[i].has_exited && s->host_of[i] < x->hosts &&
            !x->shares[s->host_of[i]].has_come) {
            if (s->events.on_absent)
                s->events.on_absent(i, s->events.arg);
            return;
        }
    }
}

void agent_exchange_on_exited(struct server *s)
{
    for (const struct agent_exchange *x = s->agents.exchanges; x; x = x->next)
        exchange_check(s, x);
}

int agent_exchange_add(struct server *s, int host, uint32_t number, const uint8_t *bytes,
                       size_t size, struct fault *why)
{
    struct agent_exchange **at = exchange_find(s, number);
    struct agent_share *share;
    int rc = *at ? 0 : exchange_create(s, at, number, why);

    if (rc)
        return rc;
    if (host >= (*at)->hosts)
        return fault_set(why, ML_ERR_REFUSED, "its EXCHANGE %u began before it came", number);
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
    if (++(*at)->come == (*at)->hosts)
        return exchange_complete(s, at, why);
    exchange_check(s, *at);
    return 0;
}

static int pass_send(struct connection *c, int from, const uint8_t *bytes, size_t size,
                     struct fault *why)
{
    uint32_t word = htonl((uint32_t)from);
    uint8_t *all = malloc(NUMBER + size);

    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    memcpy(all, &word, NUMBER);
    memcpy(all + NUMBER, bytes, size);
    connection_send(c, COORD_PASSED, all, NUMBER + size);
    free(all);
    return 0;
}

/* Until the agent has connected. */
static int pass_keep(struct server *s, int to, int from, const uint8_t *bytes, size_t size,
                     struct fault *why)
{
    struct agent_pass **at = &s->agents.passes, *p;

    if (s->agents.passes_size + size > FRAME_LIMIT)
        return fault_set(why, ML_ERR_REFUSED, "more than %d MiB wait for agents",
                         FRAME_LIMIT >> 20);
    p = malloc(sizeof(*p) + size);
    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "the coordinator is out of memory");
    *p = (struct agent_pass){.to = to, .from = from, .size = size};
    memcpy(p->bytes, bytes, size);
    while (*at)
        at = &(*at)->next;
    *at = p;
    s->agents.passes_size += size;
    return 0;
}

/* To the own agent, or by a connection. */
static int pass_deliver(struct server *s, int to, int from, const uint8_t *bytes, size_t size,
                        struct fault *why)
{
    struct connection *c;

    if (to == s->host_of[0]) {
        if (s->events.on_passed)
            s->events.on_passed(from, bytes, size, s->events.arg);
        return 0;
    }
    for (c = TAILQ_FIRST(&s->known); c; c = TAILQ_NEXT(c, entry)) {
        if (c->state == CONNECTION_AGENT && c->host == to)
            return pass_send(c, from, bytes, size, why);
    }
    return pass_keep(s, to, from, bytes, size, why);
}

void agent_exchange_on_agent(struct connection *c)
{
    struct agent_pass **at = &c->server->agents.passes, *p;
    struct fault why;

    while ((p = *at)) {
        if (p->to != c->host) {
            at = &p->next;
            continue;
        }
        pass_send(c, p->from, p->bytes, p->size, &why);
        c->server->agents.passes_size -= p->size;
        *at = p->next;
        free(p);
    }
}

int agent_exchange_pass(struct server *s, int from, uint32_t to, const uint8_t *bytes, size_t size,
                        struct fault *why)
{
    if (to >= (uint32_t)s->hosts || (int)to == from || size == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "its PASS is malformed");
    return pass_deliver(s, (int)to, from, bytes, size, why);
}

int agent_exchange_receive_pass(struct connection *c, const struct frame *f, struct fault *why)
{
    uint32_t host;

    if (f->size < NUMBER)
        return fault_set(why, ML_ERR_REFUSED, "its PASS is malformed");
    memcpy(&host, f->payload, NUMBER);
    return agent_exchange_pass(c->server, c->host, ntohl(host), f->payload + NUMBER,
                               f->size - NUMBER, why);
}

int agent_exchange_receive(struct connection *c, const struct frame *f, struct fault *why)
{
    uint32_t number;

    if (f->size < NUMBER)
        return fault_set(why, ML_ERR_REFUSED, "its EXCHANGE is malformed");
    memcpy(&number, f->payload, NUMBER);
    return agent_exchange_add(c->server, c->host, ntohl(number), f->payload + NUMBER,
                              f->size - NUMBER, why);
}

int agent_exchange_receive_name(struct connection *c, json_t *message, struct fault *why)
{
    const char *what, *service, *port = NULL;
    json_int_t ask;
    bool is_done;

    if (json_unpack(message, "{s:I, s:s, s:s, s?s}", "ask", &ask, "what", &what, "service",
                    &service, "port", &port))
        return fault_set(why, ML_ERR_REFUSED, "its NAME is malformed");
    is_done = names_take(&c->server->agents.names, what, service, &port);
    connection_send_json(c, COORD_NAMED,
                         json_pack("{s:I, s:b, s:s}", "ask", ask, "done", (int)is_done, "port",
                                   is_done && port ? port : ""));
    return 0;
}
