/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_hub.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/address.h"
#include "common/text/printable.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_edges.h"
#include "launcher/wire/uplink/uplink_pump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 *     a host:  AWAY ──admitted──▶ ADMITTED ──HERE──▶ THERE ──its uplink ends──▶ AWAY
 *
 * With --fanout a host that belongs below another calls the head first, waits until that one is
 * there, and is told where it is. It is then admitted there.
 *
 * A channel is wanted from uplink_hub_reach() to uplink_hub_hang_up(); it has a pump once the host
 * is THERE.
 */
struct hub_host {
    struct uplink_hub *hub;
    int index;
    bool is_there;
    char from[ADDRESS_TEXT], name[UPLINK_NAME];
    char door[ADDRESS_TEXT];        /* where it waits for those below it */
    struct uplink_parting *waiting; /* its first connection, until the one above it is there */
    bool is_sent;                   /* it has been told where that is */

    struct uplink_pump *pump;
    uint32_t run; /* the last channel's */
    uplink_hub_ready_fn *ready;
    void *arg;
    struct event *limit, *sweep;
    bool is_lost, is_swept;  /* the uplink, whose pump is not closed yet; its own pump is */
    char ended[UPLINK_TEXT]; /* how the last channel has */
};

struct uplink_hub {
    struct event_base *base;
    struct uplink_hub_events events;
    struct uplink_edges *edges;
    struct uplink_tree tree;
    struct hub_host *hosts;
    int limit_ms;
    bool is_started, is_leaving;
};

/* --- channels --------------------------------------------------------------------------------- */

static void channel_answer(struct hub_host *h, int fd, const struct fault *why)
{
    uplink_hub_ready_fn *ready = h->ready;

    h->ready = NULL;
    event_del(h->limit);
    ready(fd, why, h->arg);
}

/* The supervisor has closed its end, or half of it. */
static void on_pump_end(void *arg)
{
    uplink_pump_shut(((struct hub_host *)arg)->pump);
}

static void channel_start(struct hub_host *h)
{
    struct fault why = {0};
    struct uplink_route to;
    int pair[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
        fault_os(&why, ML_ERR_SYSTEM, errno, "cannot open a channel");
        channel_answer(h, -1, &why);
        return;
    }
    rc = uplink_edges_route(h->hub->edges, h->index, &to)
             ? uplink_pump_open(&h->pump, h->hub->base, &to, h->index, ++h->run, pair[1],
                                on_pump_end, h, &why)
             : fault_set(&why, ML_ERR_LINK, "its connection was lost");
    if (rc) {
        close(pair[0]);
        close(pair[1]);
        channel_answer(h, -1, &why);
        return;
    }
    uplink_route_send_tagged(&to, UPLINK_OPEN, h->run, NULL, 0);
    channel_answer(h, pair[0], &why);
}

static struct hub_host *host_above(const struct hub_host *h)
{
    int parent = uplink_tree_parent(&h->hub->tree, h->index);

    return parent == UPLINK_HEAD ? NULL : &h->hub->hosts[parent];
}

static void absence_explain(const struct hub_host *h, struct fault *why)
{
    const struct hub_host *above = host_above(h);
    int limit_s = h->hub->limit_ms / 1000;

    if (h->waiting)
        fault_set(why, ML_ERR_TIMEOUT,
                  "has called, but host %d, above it in the tree of --fanout, was not there within "
                  "%d s (--init-timeout)",
                  above->index, limit_s);
    else if (h->is_sent)
        fault_set(why, ML_ERR_TIMEOUT,
                  "was sent to host %s at %s, above it in the tree of --fanout, and was not there "
                  "within %d s (--init-timeout): hosts have to reach each other",
                  above->name, above->door, limit_s);
    else if (h->hub->is_started)
        fault_set(why, ML_ERR_TIMEOUT,
                  "its agent has not called this machine within %d s (--init-timeout): hosts have "
                  "to reach it, at the address of --listen if that is given",
                  limit_s);
    else
        fault_set(why, ML_ERR_TIMEOUT,
                  "has not joined within %d s (--init-timeout): start mlaunch join with --index %d "
                  "there, or look at what it says",
                  limit_s, h->index);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct hub_host *h = arg;
    struct fault why;

    (void)fd, (void)what;
    absence_explain(h, &why);
    channel_answer(h, -1, &why);
}

void uplink_hub_reach(struct uplink_hub *hub, int index, uplink_hub_ready_fn *ready, void *arg)
{
    struct hub_host *h = &hub->hosts[index];
    const struct timeval limit = {hub->limit_ms / 1000, hub->limit_ms % 1000 * 1000};

    h->ready = ready;
    h->arg = arg;
    h->ended[0] = '\0';
    if (h->is_there) {
        channel_start(h);
        return;
    }
    event_add(h->limit, &limit);
    if (hub->events.on_wanted)
        hub->events.on_wanted(index, hub->events.arg);
}

void uplink_hub_give_up(struct uplink_hub *hub, int index, const char *text)
{
    struct hub_host *h = &hub->hosts[index];
    struct fault why;

    if (h->is_there || !h->ready)
        return;
    fault_set(&why, ML_ERR_REFUSED, "%s", text);
    channel_answer(h, -1, &why);
}

bool uplink_hub_has(const struct uplink_hub *hub, int index)
{
    return hub->hosts[index].is_there;
}

void uplink_hub_hang_up(struct uplink_hub *hub, int index)
{
    struct hub_host *h = &hub->hosts[index];
    struct uplink_route to;

    h->ready = NULL;
    event_del(h->limit);
    if (h->pump && uplink_edges_route(hub->edges, index, &to))
        uplink_route_send_tagged(&to, UPLINK_CLOSE, h->run, NULL, 0);
    uplink_pump_close(h->pump);
    h->pump = NULL;
}

const char *uplink_hub_reason(const struct uplink_hub *hub, int index)
{
    return hub->hosts[index].ended;
}

/* --- hosts ------------------------------------------------------------------------------------ */

static bool is_in_subtree(const struct hub_host *h, const struct hub_host *top)
{
    const struct uplink_tree *t = &h->hub->tree;

    return h == top ||
           (h->index >= t->first && t->fanout && uplink_tree_is_within(t, top->index, h->index));
}

static void pump_sweep(struct hub_host *h)
{
    if (!h->is_lost)
        return;
    h->is_lost = false;
    uplink_pump_close(h->pump); /* the supervisor reads end of file */
    h->pump = NULL;
}

/* Outside of the callbacks of what it closes. The supervisor notices the end of the host that was
 * lost before that of those below it, whose channels are closed in the next turn of the loop. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval soon;
    struct hub_host *h = arg;
    struct uplink_hub *hub = h->hub;

    (void)fd, (void)what;
    pump_sweep(h);
    if (!h->is_swept && hub->tree.fanout && event_add(h->sweep, &soon) == 0) {
        h->is_swept = true;
        return;
    }
    h->is_swept = false;
    for (int i = 0; hub->tree.fanout && i < hub->tree.count; i++)
        if (is_in_subtree(&hub->hosts[i], h))
            pump_sweep(&hub->hosts[i]);
    if (!host_above(h))
        uplink_edges_clear(hub->edges, h->index);
}

static void host_mark_lost(struct hub_host *h, const struct hub_host *top, const char *why)
{
    h->is_lost = true;
    h->is_there = h->is_sent = false;
    h->door[0] = '\0';
    if (h->ended[0])
        return;
    if (h == top)
        snprintf(h->ended, sizeof(h->ended), "its connection was lost: %.200s", why);
    else
        snprintf(h->ended, sizeof(h->ended),
                 "host %.100s, above it in the tree of --fanout, was lost: %.200s", top->name, why);
}

/* The connection of `h`, and so those of all below it. */
static void host_lose(struct hub_host *h, const char *why)
{
    static const struct timeval soon;
    struct uplink_hub *hub = h->hub;

    if (h->is_there && !h->pump && !hub->is_leaving)
        log_warn("host %d (%s) has left again: %s", h->index, h->name, why);
    else
        log_debug("host %d (%s): its uplink has ended: %s", h->index, h->name, why);
    for (int i = hub->tree.first; i < hub->tree.count; i++)
        if (is_in_subtree(&hub->hosts[i], h))
            host_mark_lost(&hub->hosts[i], h, why);
    event_add(h->sweep, &soon);
}

static void on_lost(int child, const char *why, void *arg)
{
    host_lose(&((struct uplink_hub *)arg)->hosts[child], why);
}

static void on_room(int child, void *arg)
{
    struct uplink_hub *hub = arg;

    if (hub->hosts[child].pump)
        uplink_pump_resume(hub->hosts[child].pump);
    for (int i = child + 1; hub->tree.fanout && i < hub->tree.count; i++)
        if (hub->hosts[i].pump && is_in_subtree(&hub->hosts[i], &hub->hosts[child]))
            uplink_pump_resume(hub->hosts[i].pump);
}

/* A text that another machine has sent. */
static void text_take(char *out, size_t size, const uint8_t *bytes, size_t n)
{
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), (const char *)bytes);
    printable_mend(out, "");
}

static void host_send_on(struct hub_host *h)
{
    const struct hub_host *above = host_above(h);

    h->is_sent = true;
    log_debug("host %d belongs below host %d, at %s", h->index, above->index, above->door);
    uplink_parting_say(h->waiting, UPLINK_GO, above->door, strlen(above->door));
}

static void here_take(struct hub_host *h, const struct frame *f)
{
    struct uplink_hub *hub = h->hub;

    pump_sweep(h);
    text_take(h->name, sizeof(h->name), f->payload, f->size);
    h->is_there = true;
    log_info("host %d of %d has joined: %s, from %s", h->index, hub->tree.count, h->name, h->from);
    hub->events.on_joined(h->index, h->name, h->from, hub->events.arg);
    if (h->ready)
        channel_start(h);
    for (int i = hub->tree.first; *h->door && i < hub->tree.count; i++)
        if (hub->hosts[i].waiting && host_above(&hub->hosts[i]) == h)
            host_send_on(&hub->hosts[i]);
}

static int run_take(struct hub_host *h, const struct frame *f, struct fault *why)
{
    const uint8_t *rest;
    uint32_t run;
    size_t size;

    if (!h->is_there || !uplink_stream_word(f, &run, &rest, &size) ||
        (f->type != UPLINK_DATA && f->type != UPLINK_ENDED && f->type != UPLINK_SHUT))
        return fault_set(why, ML_ERR_REFUSED, "it sent a message of type %d out of turn", f->type);
    if (!h->pump || run != h->run)
        return 0; /* that channel has been closed */
    if (f->type == UPLINK_DATA)
        return uplink_pump_take(h->pump, rest, size, why);
    if (f->type == UPLINK_ENDED)
        text_take(h->ended, sizeof(h->ended), rest, size);
    else
        uplink_pump_take_shut(h->pump);
    return 0;
}

/* False: it is not one of those that come from a host of the tree. */
static bool tree_take(struct hub_host *h, const struct frame *f)
{
    char text[UPLINK_TEXT];

    if (f->type == UPLINK_DOOR && !h->is_there && uplink_tree_has_children(&h->hub->tree, h->index))
        text_take(h->door, sizeof(h->door), f->payload, f->size);
    else if (f->type == UPLINK_LOST && host_above(h)) {
        text_take(text, sizeof(text), f->payload, f->size);
        host_lose(h, text);
    } else {
        return false;
    }
    return true;
}

static void on_frame(int host, const struct frame *f, void *arg)
{
    struct uplink_hub *hub = arg;
    struct hub_host *h = &hub->hosts[host];
    struct fault why;

    if (f->type == UPLINK_HERE && !h->is_there)
        here_take(h, f);
    else if (!tree_take(h, f) && run_take(h, f, &why))
        uplink_edges_fail(hub->edges, host, why.text);
}

static void on_admitted(int child, const char *from, void *arg)
{
    struct hub_host *h = &((struct uplink_hub *)arg)->hosts[child];

    snprintf(h->from, sizeof(h->from), "%s", from);
}

static void on_stray(int fd, int index, const struct auth_keys *keys, const char *from, void *arg)
{
    struct uplink_hub *hub = arg;
    struct hub_host *h = &hub->hosts[index];
    char text[UPLINK_TEXT];

    if (h->is_there || h->waiting) {
        uplink_edges_describe_taken(text, sizeof(text), index, h->from);
        uplink_edges_refuse(hub->edges, fd, keys, from, text);
        return;
    }
    snprintf(h->from, sizeof(h->from), "%s", from);
    if (uplink_parting_add(uplink_edges_partings(hub->edges), fd, keys, &h->waiting) &&
        *host_above(h)->door && host_above(h)->is_there)
        host_send_on(h);
}

static void on_refused(const char *text, void *arg)
{
    struct uplink_hub *hub = arg;

    hub->events.on_refused(text, hub->events.arg);
}

/* --- start and end ---------------------------------------------------------------------------- */

static int hosts_create(struct uplink_hub *hub, struct fault *why)
{
    hub->hosts = calloc((size_t)hub->tree.count, sizeof(*hub->hosts));
    for (int i = 0; hub->hosts && i < hub->tree.count; i++) {
        struct hub_host *h = &hub->hosts[i];

        h->hub = hub;
        h->index = i;
        h->limit = evtimer_new(hub->base, on_limit, h);
        h->sweep = evtimer_new(hub->base, on_sweep, h);
        if (!h->limit || !h->sweep)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return hub->hosts ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

int uplink_hub_open(struct uplink_hub **out, struct event_base *base,
                    const struct uplink_hub_config *config, const struct uplink_hub_events *events,
                    struct fault *why)
{
    struct uplink_hub *hub = calloc(1, sizeof(*hub));
    const struct uplink_edges_events edges = {on_refused, on_stray, on_admitted, on_frame,
                                              on_lost,    on_room,  hub};
    int rc;

    if (!hub)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *hub = (struct uplink_hub){.base = base,
                               .events = *events,
                               .tree = {config->fanout, config->first, config->hosts},
                               .limit_ms = config->limit_ms,
                               .is_started = config->is_started};
    rc = hosts_create(hub, why);
    if (!rc)
        rc = uplink_edges_open(&hub->edges, base,
                               &(struct uplink_edges_config){.ip = config->ip,
                                                             .port = config->port,
                                                             .self = UPLINK_HEAD,
                                                             .tree = hub->tree,
                                                             .key = config->key},
                               &edges, why);
    if (rc)
        uplink_hub_close(hub, 0);
    else
        *out = hub;
    return rc;
}

const char *uplink_hub_where(const struct uplink_hub *hub)
{
    return uplink_edges_where(hub->edges);
}

static void host_clear(struct hub_host *h)
{
    uplink_pump_close(h->pump);
    if (h->limit)
        event_free(h->limit);
    if (h->sweep)
        event_free(h->sweep);
}

static void on_farewell_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

/* The hosts close their ends once they have the status. */
static void farewell(struct uplink_hub *hub, int status)
{
    static const struct timeval limit = FAILURE_TIMEVAL(FAREWELL_MS);
    const uint32_t word = htonl((uint32_t)status);
    bool is_over = false;
    struct event *timer = evtimer_new(hub->base, on_farewell_over, &is_over);

    if (!timer || event_add(timer, &limit))
        is_over = true;
    hub->is_leaving = true;
    uplink_edges_finish(hub->edges, status);
    for (int i = 0; i < hub->tree.count; i++)
        if (hub->hosts[i].waiting)
            uplink_parting_say(hub->hosts[i].waiting, UPLINK_STATUS, &word, sizeof(word));
    while (!is_over && !uplink_edges_is_empty(hub->edges))
        event_base_loop(hub->base, EVLOOP_ONCE);
    if (timer)
        event_free(timer);
}

void uplink_hub_close(struct uplink_hub *hub, int status)
{
    if (!hub)
        return;
    if (hub->edges)
        farewell(hub, status);
    for (int i = 0; hub->hosts && i < hub->tree.count; i++)
        host_clear(&hub->hosts[i]);
    uplink_edges_close(hub->edges);
    free(hub->hosts);
    free(hub);
}
