/* SPDX-License-Identifier: MIT */
#include "coordinator/service/server.h"

#include "common/net/stranger_limits.h"
#include "coordinator/connection.h"
#include "coordinator/generation.h"
#include "coordinator/server_state.h"
#include "coordinator/service/agent_exchange.h"
#include "coordinator/service/liveness.h"
#include "coordinator/service/membership.h"
#include "coordinator/service/receive.h"
#include "coordinator/service/stall.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 4096, ACCEPT_AGAIN_MS = 100 };

static void on_accept(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct server *s = arg;

    (void)what;
    for (int i = 0; i < STRANGERS_AT_ONCE; i++) {
        int fd = address_accept(listener);

        if (fd >= 0) {
            connection_accept(s, fd);
        } else if (address_is_exhausted(errno)) {
            if (connection_push_out(s))
                return;
            /* The listener stays readable, so without a pause the loop would spin. */
            event_del(s->door.on_accept);
            event_add(s->door.accept_again, &pause);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } /* else: only that connection failed */
    }
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;

    (void)fd, (void)what;
    event_add(s->door.on_accept, NULL);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;

    (void)fd, (void)what;
    connection_free_all(&s->closed);
}

static int ranks_most(const struct server_config *config)
{
    return config->most > config->size ? config->most : config->size;
}

static int server_copy_config(struct server *s, const struct server_config *config,
                              struct fault *why)
{
    int most = ranks_most(config);
    int most_hosts = config->hosts + most - config->size; /* each has a rank of its own */
    size_t size = (size_t)config->size, hosts = (size_t)most_hosts;

    if (strlen(config->job) >= sizeof(s->job))
        return fault_set(why, ML_ERR_ARGUMENT, "the job's id is too long");
    memcpy(s->job, config->job, strlen(config->job) + 1);
    memcpy(s->secret, config->secret, AUTH_SECRET);
    s->size = s->began = config->size;
    s->most = most;
    s->hosts_most = most_hosts;
    s->stalls.after_ms = config->stall_ms;
    s->takes_over = s->has_placed = config->takes_over;
    s->has_met = config->takes_over && !config->is_unmet;
    s->replaces = config->replaces;
    s->replace_ms = config->replace_ms;
    s->membership = config->membership;
    s->leavers_ms = config->leavers_ms ? config->leavers_ms : LEAVERS_MS;
    s->host_of = calloc((size_t)most, sizeof(*s->host_of));
    s->ranks = calloc((size_t)most, sizeof(*s->ranks));
    s->host_names = calloc(hosts, sizeof(*s->host_names));
    s->has_agent = calloc(hosts, sizeof(*s->has_agent));
    s->placed = calloc(hosts, sizeof(*s->placed));
    if (!s->host_of || !s->ranks || !s->host_names || !s->has_agent || !s->placed)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (config->directory) {
        s->directory = strdup(config->directory);
        if (!s->directory)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    memcpy(s->host_of, config->host_of, size * sizeof(*s->host_of));
    for (; s->hosts < config->hosts; s->hosts++) {
        s->host_names[s->hosts] = strdup(config->host_names[s->hosts]);
        if (!s->host_names[s->hosts])
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return 0;
}

/* Admits the job's ranks and agents. */
static bool server_on_identity(struct connection *c, const struct auth_identity *id, char *text,
                               size_t size)
{
    struct server *s = c->server;
    bool is_rank = strcmp(id->purpose, "rank") == 0 && id->rank < s->size;
    bool is_agent = strcmp(id->purpose, "agent") == 0 && id->rank < s->hosts;
    bool is_twice;

    /* The one before is lost, as GONE will say. */
    if (is_agent && s->has_agent[id->rank] && id->generation > s->placed[id->rank])
        server_host_gone(s, id->rank, s->placed[id->rank]);
    is_twice = is_agent && (s->has_agent[id->rank] || id->generation < s->placed[id->rank]);
    if ((!is_rank && !is_agent) || is_twice) {
        snprintf(text, size, "this job's coordinator expects no %s %d%s", id->purpose, id->rank,
                 is_twice ? " twice" : "");
        return false;
    }
    if (is_rank) {
        c->state = CONNECTION_RANK;
        c->rank = id->rank;
        c->number = id->generation;
    } else {
        c->state = CONNECTION_AGENT;
        c->host = id->rank;
        s->has_agent[c->host] = true;
        s->placed[c->host] = id->generation;
    }
    return true;
}

int server_create(struct server **out, struct event_base *base, const struct server_config *config,
                  const struct server_events *events, struct fault *why)
{
    struct server *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->base = s->limits.base = base;
    s->events = *events;
    s->handlers = (struct server_handlers){.on_identity = server_on_identity,
                                           .on_frame = receive_frame,
                                           .on_agent = agent_exchange_on_agent,
                                           .on_closed = liveness_on_closed};
    s->door.listener = -1;
    strangers_init(&s->door.strangers, STRANGERS_COORDINATOR + 2 * ranks_most(config));
    TAILQ_INIT(&s->known);
    TAILQ_INIT(&s->closed);
    rc = server_copy_config(s, config, why);
    if (rc)
        server_close(s);
    else
        *out = s;
    return rc;
}

int server_listen(struct server *s, int listener, struct fault *why)
{
    s->door.listener = listener;
    s->door.on_accept = event_new(s->base, s->door.listener, EV_READ | EV_PERSIST, on_accept, s);
    s->door.accept_again = evtimer_new(s->base, on_accept_again, s);
    s->sweeper = event_new(s->base, -1, 0, on_sweep, s);
    if (!s->door.on_accept || !s->door.accept_again || !s->sweeper ||
        event_add(s->door.on_accept, NULL) ||
        limit_open(&s->stalls.limit, &s->limits, stall_on_timeout, s))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

int server_open(struct server **out, struct event_base *base, const struct server_config *config,
                const struct server_events *events, struct fault *why)
{
    struct server *s;
    int listener, rc = server_create(&s, base, config, events, why);

    if (rc)
        return rc;
    rc = address_listen(config->bind_ip, config->port, BACKLOG, &listener, &s->door.address, why);
    if (!rc)
        rc = server_listen(s, listener, why);
    if (rc)
        server_close(s);
    else
        *out = s;
    return rc;
}

const struct address *server_address(const struct server *s)
{
    return &s->door.address;
}

static void free_event(struct event *e)
{
    if (e)
        event_free(e);
}

void server_close(struct server *s)
{
    struct stranger *x;

    if (!s)
        return;
    while ((x = strangers_first_out(&s->door.strangers)))
        connection_drop((struct connection *)x);
    free_event(s->door.on_accept);
    free_event(s->door.accept_again);
    free_event(s->sweeper);
    limit_free(&s->stalls.limit);
    if (s->door.listener >= 0)
        close(s->door.listener);
    connection_free_all(&s->known);
    connection_free_all(&s->closed);
    while (s->generations)
        generation_destroy(s->generations);
    agent_exchange_clear(s);
    for (int i = 0; i < s->hosts; i++)
        free(s->host_names[i]);
    for (int i = 0; s->ranks && i < s->size; i++)
        free(s->ranks[i].exit_text);
    free(s->host_names);
    free(s->directory);
    free(s->has_agent);
    free(s->placed);
    free(s->host_of);
    free(s->ranks);
    sodium_memzero(s->secret, sizeof(s->secret));
    free(s);
}

void server_rank_exited(struct server *s, int rank, int64_t pid, const char *text)
{
    if (rank >= 0 && rank < s->size)
        liveness_rank_exited(s, rank, pid, text, false);
}

void server_rank_vacant(struct server *s, int rank)
{
    if (rank < 0 || rank >= s->size)
        return;
    s->ranks[rank].is_vacant = true;
    /* Its host's agent has had no time to say so to the coordinator that has taken over. */
    if (s->takes_over && !s->ranks[rank].has_joined)
        liveness_rank_exited(s, rank, 0, "has ended before", false);
    for (struct generation *g = s->generations; g; g = g->next)
        if (g->is_complete)
            membership_look(g);
}

void server_rank_leaves(struct server *s, int rank)
{
    if (rank < 0 || rank >= s->size)
        return;
    s->ranks[rank].is_vacant = true; /* first: nobody waits for a newcomer */
    liveness_rank_exited(s, rank, 0, "is gone: it has been taken out of the job (mlaunch shrink)",
                         true);
}

void server_grow(struct server *s, int host)
{
    struct server_rank *r = &s->ranks[s->size];

    if (s->size == s->most || host < 0 || host >= s->hosts)
        return;
    s->host_of[s->size] = host;
    r->exit_text = strdup("has not been started yet");
    r->has_exited = r->exit_text != NULL; /* until its process comes: nobody waits for it */
    s->exited += r->has_exited;
    s->size++;
}

void server_host_gone(struct server *s, int host, uint32_t placed)
{
    struct connection *c;

    if (host < 0 || host >= s->hosts || placed < s->placed[host])
        return;
    for (c = TAILQ_FIRST(&s->known); c; c = TAILQ_NEXT(c, entry)) {
        if (c->state == CONNECTION_AGENT && c->host == host) {
            connection_drop(c); /* which declares its ranks lost */
            return;
        }
    }
    liveness_lose_host(s, host);
}

void server_host_place(struct server *s, int host, const char *name)
{
    bool is_valid = host >= 0 && host <= s->hosts && host < s->hosts_most;
    char *copy = is_valid ? strdup(name) : NULL;

    if (!copy)
        return;
    free(s->host_names[host]);
    s->host_names[host] = copy;
    s->has_placed = true;
    s->hosts += host == s->hosts;
}

int server_share(struct server *s, uint32_t number, const void *bytes, size_t size,
                 struct fault *why)
{
    return agent_exchange_add(s, s->host_of[0], number, bytes, size, why);
}

int server_pass(struct server *s, int host, const void *bytes, size_t size, struct fault *why)
{
    return agent_exchange_pass(s, s->host_of[0], (uint32_t)host, bytes, size, why);
}

bool server_name(struct server *s, const char *what, const char *service, const char **port)
{
    return names_take(&s->agents.names, what, service, port);
}

void server_pause(struct server *s)
{
    limits_pause(&s->limits);
}

void server_resume(struct server *s)
{
    limits_resume(&s->limits);
}

void server_tell_waits(struct server *s)
{
    stall_tell(s);
}
