/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_edges.h"

#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/address.h"
#include "launcher/wire/uplink/stream/uplink_gather.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_door.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct edge {
    struct uplink_edges *edges;
    int child;
    struct uplink_stream *stream; /* NULL: it has not called */
    struct uplink_gather *gather; /* the head has it, if hosts are below the child; or NULL */
    int unanswered;               /* PINGs since it was heard */
    bool is_lost;
    char from[ADDRESS_TEXT];
};

struct uplink_edges {
    struct event_base *base;
    struct uplink_edges_events events;
    struct uplink_tree tree;
    int self, width;
    struct uplink_door *door;
    struct uplink_partings *partings;
    struct edge *list; /* `width`, by slot */
    struct event *tick;
};

static struct edge *edge_of(const struct uplink_edges *e, int child)
{
    return &e->list[uplink_tree_slot(&e->tree, child)];
}

/* --- frames ----------------------------------------------------------------------------------- */

static void routed_take(struct edge *g, const struct frame *f)
{
    struct uplink_edges *e = g->edges;
    struct frame inner;
    uint32_t host;
    char text[128];

    if (!uplink_route_take(f, &host, &inner) || host > INT32_MAX || (int)host == g->child ||
        uplink_tree_child_towards(&e->tree, g->child, (int)host) < 0) {
        snprintf(text, sizeof(text), "it sent a message for a host that is not below it");
        uplink_stream_fail(g->stream, text);
        return;
    }
    e->events.on_frame((int)host, &inner, e->events.arg);
}

static void on_frame(const struct frame *f, void *arg)
{
    struct edge *g = arg;

    g->unanswered = 0;
    if (f->type == UPLINK_ROUTED)
        routed_take(g, f);
    else if (f->type != UPLINK_PONG)
        g->edges->events.on_frame(g->child, f, g->edges->events.arg);
}

static void on_end(const char *why, void *arg)
{
    struct edge *g = arg;

    g->is_lost = true;
    g->edges->events.on_lost(g->child, why, g->edges->events.arg);
}

static void on_room(void *arg)
{
    struct edge *g = arg;

    g->edges->events.on_room(g->child, g->edges->events.arg);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_edges *e = arg;
    char text[64];

    (void)fd, (void)what;
    snprintf(text, sizeof(text), "nothing was heard from it for %g s",
             FAILURE_SECONDS(UPLINK_LOST_MS));
    for (int i = 0; i < e->width; i++) {
        struct edge *g = &e->list[i];

        if (!g->stream || uplink_stream_is_held(g->stream))
            continue;
        if (g->unanswered++ == UPLINK_PINGS_MISSED)
            uplink_stream_fail(g->stream, text);
        else
            uplink_stream_send(g->stream, UPLINK_PING, NULL, 0);
    }
}

/* --- who is let in ---------------------------------------------------------------------------- */

void uplink_edges_refuse(struct uplink_edges *e, int fd, const struct auth_keys *keys,
                         const char *from, const char *text)
{
    char line[UPLINK_TEXT + ADDRESS_TEXT + 64];
    struct uplink_parting *p;

    snprintf(line, sizeof(line), "refused a host from %s: %s", from, text);
    e->events.on_refused(line, e->events.arg);
    p = uplink_parting_add(e->partings, fd, keys, NULL);
    if (p)
        uplink_parting_say(p, UPLINK_REFUSED, text, strlen(text));
}

void uplink_edges_describe_taken(char *text, size_t size, int index, const char *from)
{
    snprintf(text, size,
             "index %d has joined already, from %s; if that one is gone, the head notices that "
             "within %g s: join again then",
             index, from, FAILURE_SECONDS(UPLINK_LOST_MS + UPLINK_PING_MS));
}

static bool is_wanted(const struct uplink_edges *e, const struct auth_identity *id, char *text,
                      size_t size)
{
    const struct uplink_tree *t = &e->tree;

    if (id->group != (uint32_t)t->count)
        snprintf(text, size, "it was started with --hosts %u, and the head with %d", id->group,
                 t->count);
    else if (id->rank < t->first || id->rank >= t->count)
        snprintf(text, size, "the head waits for the indices %d to %d, not for %d", t->first,
                 t->count - 1, id->rank);
    else if (uplink_tree_parent(t, id->rank) == e->self && edge_of(e, id->rank)->stream)
        uplink_edges_describe_taken(text, size, id->rank, edge_of(e, id->rank)->from);
    else if (uplink_tree_parent(t, id->rank) != e->self && !e->events.on_stray)
        snprintf(text, size, "index %d is not one of those that host %d waits for", id->rank,
                 e->self);
    else
        return true;
    return false;
}

static void child_admit(struct uplink_edges *e, int fd, int child, const struct auth_keys *keys,
                        const char *from)
{
    struct edge *g = edge_of(e, child);
    const struct uplink_stream_events events = {on_frame, on_end, on_room, g};
    struct fault why;
    const uint32_t shape[] = {htonl((uint32_t)e->tree.fanout), htonl((uint32_t)e->tree.first)};

    if (uplink_stream_open(&g->stream, e->base, fd, keys, &events, NULL)) {
        close(fd);
        return;
    }
    g->child = child;
    g->unanswered = 0;
    /* Without it, every host gets its own copy. */
    if (e->self == UPLINK_HEAD && uplink_tree_has_children(&e->tree, child) &&
        uplink_gather_open(&g->gather, e->base, g->stream, &e->tree, child, &why))
        log_debug("host %d: %s", child, why.text);
    snprintf(g->from, sizeof(g->from), "%s", from);
    uplink_stream_send(g->stream, UPLINK_ADMITTED, shape, e->tree.fanout ? sizeof(shape) : 0);
    if (e->events.on_admitted)
        e->events.on_admitted(child, from, e->events.arg);
}

static void on_admitted(int fd, const struct auth_identity *id, const struct auth_keys *keys,
                        const char *from, void *arg)
{
    struct uplink_edges *e = arg;
    char text[UPLINK_TEXT];

    if (!is_wanted(e, id, text, sizeof(text)))
        uplink_edges_refuse(e, fd, keys, from, text);
    else if (uplink_tree_parent(&e->tree, id->rank) == e->self)
        child_admit(e, fd, id->rank, keys, from);
    else
        e->events.on_stray(fd, id->rank, keys, from, e->events.arg);
}

static void on_refused(const char *text, void *arg)
{
    struct uplink_edges *e = arg;

    e->events.on_refused(text, e->events.arg);
}

/* --- children --------------------------------------------------------------------------------- */

bool uplink_edges_route(const struct uplink_edges *e, int host, struct uplink_route *out)
{
    int child = uplink_tree_child_towards(&e->tree, e->self, host);
    const struct edge *g = child < 0 ? NULL : edge_of(e, child);

    if (!g || !g->stream)
        return false;
    *out = (struct uplink_route){g->stream, child == host ? -1 : host, g->gather};
    return true;
}

void uplink_edges_spread(const struct uplink_edges *e, const struct frame *f,
                         const struct uplink_many *m)
{
    for (int i = 0; i < e->width; i++) {
        const struct edge *g = &e->list[i];

        if (g->stream && uplink_many_reaches(m, &e->tree, g->child))
            uplink_stream_send(g->stream, f->type, f->payload, f->size);
    }
}

void uplink_edges_fail(struct uplink_edges *e, int host, const char *why)
{
    struct uplink_route to;

    if (uplink_edges_route(e, host, &to))
        uplink_stream_fail(to.stream, why);
}

void uplink_edges_clear(struct uplink_edges *e, int child)
{
    struct edge *g = edge_of(e, child);

    uplink_gather_close(g->gather);
    uplink_stream_close(g->stream);
    g->gather = NULL;
    g->stream = NULL;
    g->is_lost = false;
}

void uplink_edges_sweep(struct uplink_edges *e)
{
    for (int i = 0; i < e->width; i++)
        if (e->list[i].is_lost)
            uplink_edges_clear(e, e->list[i].child);
}

void uplink_edges_hold(struct uplink_edges *e, bool is_held)
{
    for (int i = 0; i < e->width; i++)
        if (e->list[i].stream)
            uplink_stream_hold(e->list[i].stream, is_held);
}

size_t uplink_edges_kept(const struct uplink_edges *e)
{
    size_t most = 0;

    for (int i = 0; i < e->width; i++) {
        size_t kept = e->list[i].stream ? uplink_stream_kept(e->list[i].stream) : 0;

        most = kept > most ? kept : most;
    }
    return most;
}

struct uplink_partings *uplink_edges_partings(struct uplink_edges *e)
{
    return e->partings;
}

const char *uplink_edges_where(const struct uplink_edges *e)
{
    return uplink_door_where(e->door);
}

/* --- start and end ---------------------------------------------------------------------------- */

static int parts_open(struct uplink_edges *e, const struct uplink_edges_config *c,
                      struct fault *why)
{
    static const struct timeval pause = FAILURE_TIMEVAL(UPLINK_PING_MS);
    const struct uplink_door_events door = {on_admitted, on_refused, e};

    e->list = calloc((size_t)e->width + 1, sizeof(*e->list));
    e->partings = uplink_partings_create(e->base);
    e->tick = event_new(e->base, -1, EV_PERSIST, on_tick, e);
    if (!e->list || !e->partings || !e->tick || (c->tree.fanout && event_add(e->tick, &pause)))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < e->width; i++)
        e->list[i].edges = e;
    return uplink_door_open(&e->door, e->base, c->ip, (uint16_t)c->port,
                            c->self == UPLINK_HEAD ? c->tree.count : e->width, c->key, &door, why);
}

int uplink_edges_open(struct uplink_edges **out, struct event_base *base,
                      const struct uplink_edges_config *config,
                      const struct uplink_edges_events *events, struct fault *why)
{
    struct uplink_edges *e = calloc(1, sizeof(*e));
    int rc;

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *e = (struct uplink_edges){.base = base,
                               .events = *events,
                               .tree = config->tree,
                               .self = config->self,
                               .width = uplink_tree_width(&config->tree)};
    rc = parts_open(e, config, why);
    if (rc)
        uplink_edges_close(e);
    else
        *out = e;
    return rc;
}

void uplink_edges_finish(struct uplink_edges *e, int status)
{
    const uint32_t word = htonl((uint32_t)status);

    uplink_door_close(e->door);
    e->door = NULL;
    for (int i = 0; i < e->width; i++) {
        if (!e->list[i].stream)
            continue;
        uplink_stream_hold(e->list[i].stream, false);
        uplink_stream_send(e->list[i].stream, UPLINK_STATUS, &word, sizeof(word));
        uplink_stream_finish(e->list[i].stream);
    }
}

bool uplink_edges_is_empty(const struct uplink_edges *e)
{
    for (int i = 0; i < e->width; i++)
        if (e->list[i].stream)
            return false;
    return uplink_partings_is_empty(e->partings);
}

void uplink_edges_close(struct uplink_edges *e)
{
    if (!e)
        return;
    uplink_door_close(e->door);
    uplink_partings_destroy(e->partings);
    for (int i = 0; e->list && i < e->width; i++) {
        uplink_gather_close(e->list[i].gather);
        uplink_stream_close(e->list[i].stream);
    }
    if (e->tick)
        event_free(e->tick);
    free(e->list);
    free(e);
}
