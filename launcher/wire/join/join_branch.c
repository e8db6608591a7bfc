/* SPDX-License-Identifier: MIT */
#include "launcher/wire/join/join_branch.h"

#include "common/log.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

/* Kept for one host below, before this one stops reading what comes from above. That also keeps
 * frames from the other hosts below, so it is more than a host that is merely slow needs. */
enum { DOWN_KEPT = 16 << 20 };

struct join_branch {
    struct join_branch_config config;
    struct uplink_stream *up; /* NULL: it is over */
    struct uplink_edges *edges;
    struct event *sweep;
};

static void on_refused(const char *text, void *arg)
{
    (void)arg;
    log_warn("%s", text);
}

static void on_frame(int host, const struct frame *f, void *arg)
{
    const struct join_branch *b = arg;
    const struct uplink_route up = {.stream = b->up, .host = host};

    if (!b->up)
        return;
    uplink_route_send(&up, f->type, f->payload, f->size);
    if (uplink_stream_kept(b->up) >= UPLINK_KEPT)
        uplink_edges_hold(b->edges, true);
}

static void on_lost(int child, const char *why, void *arg)
{
    static const struct timeval soon;
    struct join_branch *b = arg;
    const struct uplink_route up = {.stream = b->up, .host = child};

    log_debug("the connection of host %d below has ended: %s", child, why);
    if (b->up)
        uplink_route_send(&up, UPLINK_LOST, why, strlen(why));
    event_add(b->sweep, &soon);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct join_branch *b = arg;

    (void)fd, (void)what;
    uplink_edges_sweep(b->edges);
    if (b->up && uplink_edges_kept(b->edges) < DOWN_KEPT)
        uplink_stream_hold(b->up, false);
    b->config.on_left(b->config.arg);
}

static void on_room(int child, void *arg)
{
    const struct join_branch *b = arg;

    (void)child;
    if (b->up && uplink_edges_kept(b->edges) < DOWN_KEPT)
        uplink_stream_hold(b->up, false);
}

bool join_branch_pass(struct join_branch *b, const struct frame *f)
{
    struct uplink_route to;
    struct frame inner;
    uint32_t host;

    if (!uplink_route_take(f, &host, &inner) || host > INT32_MAX ||
        uplink_tree_child_towards(&b->config.tree, b->config.index, (int)host) < 0)
        return false;
    /* Else it has been lost, of which the head will hear. */
    if (uplink_edges_route(b->edges, (int)host, &to))
        uplink_route_send(&to, inner.type, inner.payload, inner.size);
    if (uplink_edges_kept(b->edges) >= DOWN_KEPT)
        uplink_stream_hold(b->up, true);
    return true;
}

void join_branch_spread(struct join_branch *b, const struct frame *f, const struct uplink_many *m)
{
    uplink_edges_spread(b->edges, f, m);
    if (uplink_edges_kept(b->edges) >= DOWN_KEPT)
        uplink_stream_hold(b->up, true);
}

void join_branch_resume(struct join_branch *b)
{
    uplink_edges_hold(b->edges, false);
}

int join_branch_open(struct join_branch **out, struct event_base *base,
                     const struct join_branch_config *config, struct fault *why)
{
    struct join_branch *b = calloc(1, sizeof(*b));
    const struct uplink_edges_events events = {.on_refused = on_refused,
                                               .on_frame = on_frame,
                                               .on_lost = on_lost,
                                               .on_room = on_room,
                                               .arg = b};
    int rc;

    if (!b)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    b->config = *config;
    b->up = config->up;
    b->sweep = evtimer_new(base, on_sweep, b);
    rc = b->sweep ? uplink_edges_open(&b->edges, base,
                                      &(struct uplink_edges_config){.ip = config->ip,
                                                                    .self = config->index,
                                                                    .tree = config->tree,
                                                                    .key = config->key},
                                      &events, why)
                  : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        join_branch_close(b);
    else
        *out = b;
    return rc;
}

const char *join_branch_where(const struct join_branch *b)
{
    return uplink_edges_where(b->edges);
}

void join_branch_finish(struct join_branch *b, int status)
{
    b->up = NULL;
    uplink_edges_finish(b->edges, status);
}

bool join_branch_is_empty(const struct join_branch *b)
{
    return uplink_edges_is_empty(b->edges);
}

void join_branch_close(struct join_branch *b)
{
    if (!b)
        return;
    uplink_edges_close(b->edges);
    if (b->sweep)
        event_free(b->sweep);
    free(b);
}
