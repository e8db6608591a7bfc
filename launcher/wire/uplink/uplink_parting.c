/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_parting.h"

#include "common/failure_times.h"
#include "launcher/wire/uplink/stream/uplink_stream.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

struct uplink_parting {
    struct uplink_partings *all;
    struct uplink_stream *stream;
    struct uplink_parting **place; /* or NULL */
    struct event *limit;
    TAILQ_ENTRY(uplink_parting) entry;
};

struct uplink_partings {
    struct event_base *base;
    TAILQ_HEAD(parting_list, uplink_parting) list;
};

struct uplink_partings *uplink_partings_create(struct event_base *base)
{
    struct uplink_partings *all = calloc(1, sizeof(*all));

    if (!all)
        return NULL;
    all->base = base;
    TAILQ_INIT(&all->list);
    return all;
}

static void place_clear(struct uplink_parting *p)
{
    if (p->place)
        *p->place = NULL;
    p->place = NULL;
}

static void parting_remove(struct uplink_parting *p)
{
    place_clear(p);
    TAILQ_REMOVE(&p->all->list, p, entry);
    uplink_stream_close(p->stream);
    if (p->limit)
        event_free(p->limit);
    free(p);
}

void uplink_partings_destroy(struct uplink_partings *all)
{
    if (!all)
        return;
    for (struct uplink_parting *p = TAILQ_FIRST(&all->list), *next; p; p = next) {
        next = TAILQ_NEXT(p, entry);
        parting_remove(p);
    }
    free(all);
}

bool uplink_partings_is_empty(const struct uplink_partings *all)
{
    return TAILQ_EMPTY(&all->list);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    parting_remove(arg);
}

static void on_frame(const struct frame *f, void *arg)
{
    (void)f, (void)arg;
}

static void on_end(const char *why, void *arg)
{
    struct uplink_parting *p = arg;

    (void)why;
    place_clear(p);
    event_active(p->limit, EV_TIMEOUT, 0);
}

struct uplink_parting *uplink_parting_add(struct uplink_partings *all, int fd,
                                          const struct auth_keys *keys,
                                          struct uplink_parting **place)
{
    struct uplink_parting *p = calloc(1, sizeof(*p));
    const struct uplink_stream_events events = {on_frame, on_end, NULL, p};

    if (p) {
        p->all = all;
        TAILQ_INSERT_TAIL(&all->list, p, entry);
        p->limit = evtimer_new(all->base, on_limit, p);
    }
    if (!p || !p->limit || uplink_stream_open(&p->stream, all->base, fd, keys, &events, NULL)) {
        close(fd);
        if (p)
            parting_remove(p);
        return NULL;
    }
    p->place = place;
    if (place)
        *place = p;
    return p;
}

void uplink_parting_say(struct uplink_parting *p, int type, const void *payload, size_t size)
{
    static const struct timeval limit = FAILURE_TIMEVAL(FAREWELL_MS);

    place_clear(p);
    uplink_stream_send(p->stream, type, payload, size);
    uplink_stream_finish(p->stream);
    event_add(p->limit, &limit);
}
