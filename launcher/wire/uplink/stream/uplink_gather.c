/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/stream/uplink_gather.h"

#include "launcher/wire/uplink/stream/uplink_many.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIKE_LEAST = 64,      /* bytes that are worth a frame of their own before the rest */
    HELD_MOST = 256 << 10, /* bytes that are kept beside the first one's */
};

struct gathered {
    int host;
    size_t size;
    uint8_t *own; /* NULL: they are the first one's */
};

struct uplink_gather {
    struct uplink_stream *stream;
    struct uplink_tree tree;
    int child;
    struct event *soon;
    uint32_t run;
    struct gathered *list; /* whose bytes all begin like the first one's */
    int count, room;
    size_t alike; /* how many bytes that is */
    size_t held;  /* bytes that are kept beside the first one's */
};

/* --- sending ---------------------------------------------------------------------------------- */

static void one_send(const struct uplink_gather *g, int host, const uint8_t *bytes, size_t size)
{
    const struct uplink_route to = {.stream = g->stream, .host = host == g->child ? -1 : host};

    uplink_route_send_tagged(&to, UPLINK_DATA, g->run, bytes, size);
}

/* Whether a range may go from one host to another: all in between are below other connections. */
static bool is_gap_free(const struct uplink_gather *g, int from, int to)
{
    for (int i = from + 1; i < to; i++)
        if (uplink_tree_is_within(&g->tree, g->child, i))
            return false;
    return true;
}

static void alike_send(const struct uplink_gather *g, const struct gathered *list, int count,
                       const uint8_t *bytes)
{
    struct uplink_many m = {.run = g->run, .bytes = bytes, .size = g->alike};

    for (int i = 0; i < count; i++) {
        int host = list[i].host;

        if (m.count && is_gap_free(g, m.ranges[m.count - 1].last, host)) {
            m.ranges[m.count - 1].last = host;
            continue;
        }
        if (m.count == UPLINK_RANGES_MOST) {
            uplink_many_send(&m, g->stream);
            m.count = 0;
        }
        m.ranges[m.count++] = (struct uplink_range){host, host};
    }
    uplink_many_send(&m, g->stream);
}

static int host_order(const void *a, const void *b)
{
    return ((const struct gathered *)a)->host - ((const struct gathered *)b)->host;
}

/* The stream calls this before each of the frames that are sent here, too. */
static void gather_flush(void *arg)
{
    struct uplink_gather *g = arg;
    struct gathered *list = g->list;
    int count = g->count;
    const uint8_t *first;

    if (!count)
        return;
    g->list = NULL;
    g->count = g->room = 0;
    g->held = 0;
    event_del(g->soon);
    first = list[0].own;
    if (count == 1) {
        one_send(g, list[0].host, first, list[0].size);
    } else {
        qsort(list, (size_t)count, sizeof(*list), host_order);
        alike_send(g, list, count, first);
        for (int i = 0; i < count; i++)
            if (list[i].size > g->alike)
                one_send(g, list[i].host, (list[i].own ? list[i].own : first) + g->alike,
                         list[i].size - g->alike);
    }
    for (int i = 0; i < count; i++)
        free(list[i].own);
    free(list);
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    gather_flush(arg);
}

/* --- what is held ----------------------------------------------------------------------------- */

static bool has_host(const struct uplink_gather *g, int host)
{
    for (int i = 0; i < g->count; i++)
        if (g->list[i].host == host)
            return true;
    return false;
}

static size_t alike_length(const struct uplink_gather *g, const uint8_t *bytes, size_t size)
{
    size_t most = size < g->alike ? size : g->alike, n = 0;

    while (n < most && bytes[n] == g->list[0].own[n])
        n++;
    return n;
}

static bool host_keep(struct uplink_gather *g, int host, const uint8_t *bytes, size_t size,
                      bool is_own)
{
    uint8_t *own = NULL;

    if (g->count == g->room) {
        int room = g->room ? 2 * g->room : 8;
        struct gathered *list = realloc(g->list, (size_t)room * sizeof(*list));

        if (!list)
            return false;
        g->list = list;
        g->room = room;
    }
    if (is_own) {
        own = malloc(size);
        if (!own)
            return false;
        memcpy(own, bytes, size);
        g->held += g->count ? size : 0;
    }
    g->list[g->count++] = (struct gathered){host, size, own};
    return true;
}

static bool first_keep(struct uplink_gather *g, int host, uint32_t run, const void *bytes,
                       size_t size)
{
    static const struct timeval now;

    g->run = run;
    g->alike = size;
    return event_add(g->soon, &now) == 0 && host_keep(g, host, bytes, size, true);
}

/* False: the bytes do not belong to those that are held. */
static bool another_keep(struct uplink_gather *g, int host, uint32_t run, const void *bytes,
                         size_t size)
{
    size_t alike;

    if (!g->count || run != g->run || g->held + size > HELD_MOST || has_host(g, host))
        return false;
    alike = alike_length(g, bytes, size);
    if ((alike < size || alike < g->alike) && alike < ALIKE_LEAST)
        return false;
    if (!host_keep(g, host, bytes, size, alike < size))
        return false;
    g->alike = alike;
    return true;
}

void uplink_gather_add(struct uplink_gather *g, int host, uint32_t run, const void *bytes,
                       size_t size)
{
    if (another_keep(g, host, run, bytes, size))
        return;
    gather_flush(g);
    if (!first_keep(g, host, run, bytes, size))
        one_send(g, host, bytes, size); /* no memory */
}

/* --- start and end ---------------------------------------------------------------------------- */

int uplink_gather_open(struct uplink_gather **out, struct event_base *base,
                       struct uplink_stream *stream, const struct uplink_tree *tree, int child,
                       struct fault *why)
{
    struct uplink_gather *g = calloc(1, sizeof(*g));

    if (!g)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *g = (struct uplink_gather){.stream = stream, .tree = *tree, .child = child};
    g->soon = evtimer_new(base, on_soon, g);
    if (!g->soon) {
        free(g);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    uplink_stream_set_first(stream, gather_flush, g);
    *out = g;
    return 0;
}

void uplink_gather_close(struct uplink_gather *g)
{
    if (!g)
        return;
    uplink_stream_set_first(g->stream, NULL, NULL);
    for (int i = 0; i < g->count; i++)
        free(g->list[i].own);
    free(g->list);
    event_free(g->soon);
    free(g);
}
