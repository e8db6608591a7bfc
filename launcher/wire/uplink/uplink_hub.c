/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_hub.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/printable.h"
#include "launcher/wire/uplink/uplink_door.h"
#include "launcher/wire/uplink/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_pump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAREWELL_MS = 2000 /* for hosts to take the last frame */ };

/*
 *     a host:  AWAY ──admitted──▶ ADMITTED ──HERE──▶ THERE ──its uplink ends──▶ AWAY
 *
 * A channel is wanted from uplink_hub_reach() to uplink_hub_hang_up(); it has a pump once the host
 * is THERE.
 */
struct hub_host {
    struct uplink_hub *hub;
    int index;
    struct uplink_stream *stream; /* NULL: AWAY */
    bool is_there;
    char from[ADDRESS_TEXT], name[UPLINK_NAME];

    struct uplink_pump *pump;
    uint32_t run; /* the last channel's */
    uplink_hub_ready_fn *ready;
    void *arg;
    struct event *limit, *sweep;
    char ended[UPLINK_TEXT]; /* how the last channel has */
};

/* An uplink that gets no more than its last frame. */
struct leaver {
    struct uplink_hub *hub;
    struct uplink_stream *stream;
    struct event *limit;
    TAILQ_ENTRY(leaver) entry;
};

struct uplink_hub {
    struct event_base *base;
    struct uplink_hub_events events;
    struct uplink_door *door;
    struct hub_host *hosts;
    int count, first, limit_ms;
    TAILQ_HEAD(leaver_list, leaver) leavers;
};

/* --- leavers ---------------------------------------------------------------------------------- */

static void leaver_remove(struct leaver *l)
{
    TAILQ_REMOVE(&l->hub->leavers, l, entry);
    uplink_stream_close(l->stream);
    if (l->limit)
        event_free(l->limit);
    free(l);
}

static void on_leaver_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    leaver_remove(arg);
}

static void on_leaver_frame(const struct frame *f, void *arg)
{
    (void)f, (void)arg;
}

static void on_leaver_end(const char *why, void *arg)
{
    struct leaver *l = arg;

    (void)why;
    event_active(l->limit, EV_TIMEOUT, 0);
}

/* Sends the last frame over a connection that has been admitted. Takes over `fd`. */
static void leaver_add(struct uplink_hub *hub, int fd, const struct auth_keys *keys, int type,
                       const void *payload, size_t size)
{
    static const struct timeval limit = {.tv_sec = FAREWELL_MS / 1000};
    struct leaver *l = calloc(1, sizeof(*l));
    const struct uplink_stream_events events = {on_leaver_frame, on_leaver_end, NULL, l};

    if (l) {
        l->hub = hub;
        TAILQ_INSERT_TAIL(&hub->leavers, l, entry);
        l->limit = evtimer_new(hub->base, on_leaver_limit, l);
    }
    if (!l || !l->limit || event_add(l->limit, &limit) ||
        uplink_stream_open(&l->stream, hub->base, fd, keys, &events, NULL)) {
        close(fd);
        if (l)
            leaver_remove(l);
        return;
    }
    uplink_stream_send(l->stream, type, payload, size);
    uplink_stream_finish(l->stream);
}

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
    int pair[2], rc = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
        rc = fault_os(&why, ML_ERR_SYSTEM, errno, "cannot open a channel");
        channel_answer(h, -1, &why);
        return;
    }
    rc = uplink_pump_open(&h->pump, h->hub->base, h->stream, ++h->run, pair[1], on_pump_end, h,
                          &why);
    if (rc) {
        close(pair[0]);
        close(pair[1]);
        channel_answer(h, -1, &why);
        return;
    }
    uplink_stream_send_tagged(h->stream, UPLINK_OPEN, h->run, NULL, 0);
    channel_answer(h, pair[0], &why);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct hub_host *h = arg;
    struct fault why;

    (void)fd, (void)what;
    fault_set(&why, ML_ERR_TIMEOUT,
              "has not joined within %d s (--init-timeout): start mlaunch join with --index %d "
              "there, or look at what it says",
              h->hub->limit_ms / 1000, h->index);
    channel_answer(h, -1, &why);
}

void uplink_hub_reach(struct uplink_hub *hub, int index, uplink_hub_ready_fn *ready, void *arg)
{
    struct hub_host *h = &hub->hosts[index];
    const struct timeval limit = {hub->limit_ms / 1000, hub->limit_ms % 1000 * 1000};

    h->ready = ready;
    h->arg = arg;
    h->ended[0] = '\0';
    if (h->is_there)
        channel_start(h);
    else
        event_add(h->limit, &limit);
}

void uplink_hub_hang_up(struct uplink_hub *hub, int index)
{
    struct hub_host *h = &hub->hosts[index];

    h->ready = NULL;
    event_del(h->limit);
    if (h->pump)
        uplink_stream_send_tagged(h->stream, UPLINK_CLOSE, h->run, NULL, 0);
    uplink_pump_close(h->pump);
    h->pump = NULL;
}

const char *uplink_hub_reason(const struct uplink_hub *hub, int index)
{
    return hub->hosts[index].ended;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Its stream must not be closed by its own callbacks. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct hub_host *h = arg;

    (void)fd, (void)what;
    uplink_pump_close(h->pump); /* the supervisor reads end of file */
    uplink_stream_close(h->stream);
    h->pump = NULL;
    h->stream = NULL;
}

static void on_end(const char *why, void *arg)
{
    struct hub_host *h = arg;

    if (h->is_there && !h->pump && h->hub->door)
        log_warn("host %d (%s) has left again: %s", h->index, h->name, why);
    else
        log_debug("host %d (%s): its uplink has ended: %s", h->index, h->name, why);
    if (!h->ended[0])
        snprintf(h->ended, sizeof(h->ended), "its connection was lost: %.200s", why);
    h->is_there = false;
    event_active(h->sweep, EV_TIMEOUT, 0);
}

static void on_room(void *arg)
{
    struct hub_host *h = arg;

    if (h->pump)
        uplink_pump_resume(h->pump);
}

/* A text that another machine has sent. */
static void text_take(char *out, size_t size, const uint8_t *bytes, size_t n)
{
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), (const char *)bytes);
    printable_mend(out, "");
}

static void here_take(struct hub_host *h, const struct frame *f)
{
    text_take(h->name, sizeof(h->name), f->payload, f->size);
    h->is_there = true;
    log_info("host %d of %d has joined: %s, from %s", h->index, h->hub->count, h->name, h->from);
    h->hub->events.on_joined(h->index, h->name, h->from, h->hub->events.arg);
    if (h->ready)
        channel_start(h);
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

static void on_frame(const struct frame *f, void *arg)
{
    struct hub_host *h = arg;
    struct fault why;

    if (f->type == UPLINK_HERE && !h->is_there)
        here_take(h, f);
    else if (run_take(h, f, &why))
        uplink_stream_fail(h->stream, why.text);
}

static bool is_wanted(const struct uplink_hub *hub, const struct auth_identity *id, char *text,
                      size_t size)
{
    if (id->group != (uint32_t)hub->count)
        snprintf(text, size, "it was started with --hosts %u, and the head with %d", id->group,
                 hub->count);
    else if (id->rank < hub->first || id->rank >= hub->count)
        snprintf(text, size, "the head waits for the indices %d to %d, not for %d", hub->first,
                 hub->count - 1, id->rank);
    else if (hub->hosts[id->rank].stream)
        snprintf(text, size, "index %d has joined already, from %s", id->rank,
                 hub->hosts[id->rank].from);
    else
        return true;
    return false;
}

static void on_admitted(int fd, const struct auth_identity *id, const struct auth_keys *keys,
                        const char *from, void *arg)
{
    struct uplink_hub *hub = arg;
    struct uplink_stream_events events = {on_frame, on_end, on_room, NULL};
    struct hub_host *h;
    char text[UPLINK_TEXT], line[UPLINK_TEXT + ADDRESS_TEXT + 64];

    if (!is_wanted(hub, id, text, sizeof(text))) {
        snprintf(line, sizeof(line), "refused a host from %s: %s", from, text);
        hub->events.on_refused(line, hub->events.arg);
        leaver_add(hub, fd, keys, UPLINK_REFUSED, text, strlen(text));
        return;
    }
    h = events.arg = &hub->hosts[id->rank];
    if (uplink_stream_open(&h->stream, hub->base, fd, keys, &events, NULL)) {
        close(fd);
        return;
    }
    snprintf(h->from, sizeof(h->from), "%s", from);
    uplink_stream_send(h->stream, UPLINK_ADMITTED, NULL, 0);
}

static void on_refused(const char *text, void *arg)
{
    struct uplink_hub *hub = arg;

    hub->events.on_refused(text, hub->events.arg);
}

/* --- start and end ---------------------------------------------------------------------------- */

static int hosts_create(struct uplink_hub *hub, struct fault *why)
{
    hub->hosts = calloc((size_t)hub->count, sizeof(*hub->hosts));
    for (int i = 0; hub->hosts && i < hub->count; i++) {
        struct hub_host *h = &hub->hosts[i];

        h->hub = hub;
        h->index = i;
        h->limit = evtimer_new(hub->base, on_limit, h);
        h->sweep = event_new(hub->base, -1, 0, on_sweep, h);
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
    const struct uplink_door_events door = {on_admitted, on_refused, hub};
    int rc;

    if (!hub)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *hub = (struct uplink_hub){.base = base,
                               .events = *events,
                               .count = config->hosts,
                               .first = config->first,
                               .limit_ms = config->limit_ms};
    TAILQ_INIT(&hub->leavers);
    rc = hosts_create(hub, why);
    if (!rc)
        rc = uplink_door_open(&hub->door, base, config->ip, (uint16_t)config->port, hub->count,
                              config->key, &door, why);
    if (rc)
        uplink_hub_close(hub, 0);
    else
        *out = hub;
    return rc;
}

const char *uplink_hub_where(const struct uplink_hub *hub)
{
    return uplink_door_where(hub->door);
}

static bool all_have_left(const struct uplink_hub *hub)
{
    for (int i = 0; hub->hosts && i < hub->count; i++)
        if (hub->hosts[i].stream)
            return false;
    return TAILQ_EMPTY(&hub->leavers);
}

static void host_clear(struct hub_host *h)
{
    uplink_pump_close(h->pump);
    uplink_stream_close(h->stream);
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
    static const struct timeval limit = {.tv_sec = FAREWELL_MS / 1000};
    bool is_over = false;
    struct event *timer = evtimer_new(hub->base, on_farewell_over, &is_over);

    if (!timer || event_add(timer, &limit))
        is_over = true;
    for (int i = 0; i < hub->count; i++) {
        if (!hub->hosts[i].stream)
            continue;
        uplink_stream_send_tagged(hub->hosts[i].stream, UPLINK_STATUS, (uint32_t)status, NULL, 0);
        uplink_stream_finish(hub->hosts[i].stream);
    }
    while (!is_over && !all_have_left(hub))
        event_base_loop(hub->base, EVLOOP_ONCE);
    if (timer)
        event_free(timer);
}

void uplink_hub_close(struct uplink_hub *hub, int status)
{
    struct leaver *l;

    if (!hub)
        return;
    if (hub->door) {
        uplink_door_close(hub->door);
        hub->door = NULL;
        farewell(hub, status);
    }
    while ((l = TAILQ_FIRST(&hub->leavers)))
        leaver_remove(l);
    for (int i = 0; hub->hosts && i < hub->count; i++)
        host_clear(&hub->hosts[i]);
    free(hub->hosts);
    free(hub);
}
