/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/launcher/script_channel.h"

#include "common/build_id.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { HOSTS = 4 };

struct agent_channel {
    struct agent_channel_events events;
    struct event_base *base;
    int host;
    bool has_ended;
    char text[256];
};

static struct {
    const uint8_t *at, *end;
    struct agent_channel *channels[HOSTS];
    struct event *tick; /* the next step, on the loop of the channels that there are; or NULL */
    bool is_ticking;
    script_channel_on_send *on_send;
    int sent; /* since the last step that has waited */
} script;

void script_channel_begin(const uint8_t *bytes, size_t size)
{
    script.at = bytes;
    script.end = bytes + size;
    script.is_ticking = false;
    script.sent = 0;
}

enum channel_outlook agent_channel_outlook(const struct agent_channel *a)
{
    return a->has_ended ? CHANNEL_MAY_RETURN : CHANNEL_STAYS_WRONG;
}

void script_channel_watch(script_channel_on_send *on_send)
{
    script.on_send = on_send;
}

static void channel_end(struct agent_channel *a, const char *text)
{
    if (!a || a->has_ended)
        return;
    a->has_ended = true;
    snprintf(a->text, sizeof(a->text), "%s", text);
    a->events.on_end(a->host, a->text, a->events.arg);
}

/* The payload in a block of its exact size, so that ASan sees a read beyond its final 0. */
static void frame_deliver(struct agent_channel *a, const uint8_t *line, size_t size)
{
    size_t id = strlen(build_id), used = 0;
    struct frame f = {.type = (uint8_t)((line[0] - '0') * 10 + (line[1] - '0'))};

    for (size_t i = 2; i < size; i++)
        f.size += (uint32_t)(line[i] == '@' ? id : 1);
    f.payload = malloc((size_t)f.size + 1);
    if (!f.payload)
        abort();
    for (size_t i = 2; i < size; i++) {
        if (line[i] == '@') {
            memcpy(f.payload + used, build_id, id);
            used += id;
        } else {
            f.payload[used++] = line[i];
        }
    }
    f.payload[used] = '\0';
    a->events.on_frame(a->host, &f, a->events.arg);
    free(f.payload);
}

static struct agent_channel *channel_of(uint8_t c)
{
    struct agent_channel *a = c >= '0' && c < '0' + HOSTS ? script.channels[c - '0'] : NULL;

    return a && !a->has_ended ? a : NULL;
}

static void step(const uint8_t *line, size_t size)
{
    bool is_end = size > 1 && line[0] == 'x';
    struct agent_channel *a = size > 0 ? channel_of(line[is_end]) : NULL;
    char text[256];

    if (a && is_end) {
        snprintf(text, sizeof(text), "%.*s", (int)(size - 2), (const char *)line + 2);
        channel_end(a, text);
    } else if (a && size >= 3) {
        frame_deliver(a, line + 1, size - 1);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg);

/* Whether what the step waits for has not come yet. */
static bool waits(const uint8_t *line, size_t size)
{
    if (!script.on_send || size < 1 || size > 2 || line[0] != 'w')
        return false;
    if (size == 2)
        return !channel_of(line[1]);
    if (script.sent == 0)
        return true;
    script.sent = 0;
    return false;
}

/* A step in the next round of the loop: a descriptor that is always readable, because an event that
 * is active at once would still belong to this round. */
static void tick_next(struct event_base *base)
{
    static int fd = -1;

    if (fd < 0)
        fd = eventfd(1, EFD_CLOEXEC);
    if (!script.tick)
        script.tick = event_new(base, fd, EV_READ, on_tick, base);
    if (fd < 0 || !script.tick || event_add(script.tick, NULL))
        abort();
}

/* Something has come that a step may wait for. */
static void script_wake(struct event_base *base)
{
    if (!script.is_ticking)
        tick_next(base);
    script.is_ticking = true;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    const uint8_t *next;

    (void)fd, (void)what;
    if (script.at == script.end) {
        for (int i = 0; i < HOSTS; i++)
            channel_end(script.channels[i], "the script is over");
        return;
    }
    next = memchr(script.at, '\n', (size_t)(script.end - script.at));
    if (next && waits(script.at, (size_t)(next - script.at))) {
        script.is_ticking = false; /* until script_wake() */
        return;
    }
    tick_next(arg);
    if (next) {
        const uint8_t *line = script.at;

        script.at = next + 1;
        step(line, (size_t)(next - line));
    } else {
        script.at = script.end;
    }
}

int agent_channel_open(struct agent_channel **out, struct event_base *base, int host,
                       const struct host *to, const struct channel_config *config,
                       const struct agent_channel_events *events, struct fault *why)
{
    struct agent_channel *a = calloc(1, sizeof(*a));

    (void)to, (void)config;
    if (!a || host >= HOSTS) {
        free(a);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    a->events = *events;
    a->base = base;
    a->host = host;
    script.channels[host] = a;
    script_wake(base);
    *out = a;
    return 0;
}

void agent_channel_close(struct agent_channel *a)
{
    bool is_last = true;

    if (a && script.channels[a->host] == a)
        script.channels[a->host] = NULL;
    free(a);
    for (int i = 0; i < HOSTS; i++)
        is_last = is_last && !script.channels[i];
    if (!is_last || !script.tick)
        return;
    event_free(script.tick); /* the next channel may have another loop */
    script.tick = NULL;
    script.is_ticking = false;
}

void agent_channel_send(struct agent_channel *a, int type, const void *payload, size_t size)
{
    if (!script.on_send || a->has_ended || type == LAUNCH_PING)
        return;
    script.sent++;
    script_wake(a->base);
    script.on_send(a->host, type, payload, size);
}

void agent_channel_send_words(struct agent_channel *a, int type, const uint32_t *words, int count)
{
    agent_channel_send(a, type, words, (size_t)count * sizeof(*words));
}

void agent_channel_send_tagged(struct agent_channel *a, int type, uint32_t word, const void *bytes,
                               size_t size)
{
    (void)word;
    agent_channel_send(a, type, bytes, size);
}

void agent_channel_send_json(struct agent_channel *a, int type, json_t *object)
{
    char *text = script.on_send ? json_dumps(object, JSON_COMPACT) : NULL;

    if (text)
        agent_channel_send(a, type, text, strlen(text));
    free(text);
    json_decref(object);
}

void agent_channel_flush(struct agent_channel *a)
{
    (void)a;
}

void agent_channel_shut(struct agent_channel *a)
{
    channel_end(a, "it was shut");
}

void agent_channel_check_silence(struct agent_channel *a, const char *advice)
{
    (void)a, (void)advice;
}

void agent_channel_reset_silence(struct agent_channel *a)
{
    (void)a;
}

void agent_channel_fail(struct agent_channel *a, const char *text)
{
    channel_end(a, text);
}

void agent_channel_refuse(struct agent_channel *a, const char *text)
{
    channel_end(a, text);
}

void agent_channel_cut(struct agent_channel *a, const char *text)
{
    agent_channel_fail(a, text);
}
