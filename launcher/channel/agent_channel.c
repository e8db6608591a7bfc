/* SPDX-License-Identifier: MIT */
#include "launcher/channel/agent_channel.h"

#include "common/clock.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/protocol/frame_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct agent_channel {
    struct agent_channel_events events;
    struct event_base *base;
    int host;
    struct channel *channel;
    struct frame_stream *stream; /* once the channel is open */
    int fd;                      /* the stream's, for shutdown() */
    int64_t heard_ms;
    bool ended;
    char text[768]; /* why it ended */

    /* The channel's thread says here that it is open, or why not. */
    int bell;
    struct event *on_bell;
    pthread_mutex_t lock;
    struct fault opened;
};

static void channel_over(struct agent_channel *s, const char *text)
{
    if (s->ended)
        return;
    s->ended = true;
    snprintf(s->text, sizeof(s->text), "%s", text);
    s->events.on_end(s->host, s->text, s->events.arg);
}

static void on_frame(const struct frame *f, void *arg)
{
    struct agent_channel *s = arg;

    s->heard_ms = clock_ms();
    if (!s->ended)
        s->events.on_frame(s->host, f, s->events.arg);
}

static void on_end(const char *why, void *arg)
{
    struct agent_channel *s = arg;
    char epitaph[512];

    if (!why) {
        channel_epitaph(s->channel, epitaph, sizeof(epitaph));
        why = epitaph;
    }
    channel_over(s, why);
}

/* In the channel's thread, or in channel_open_*: passes the word on. */
static void on_channel_ready(struct channel *c, const struct fault *why, void *arg)
{
    struct agent_channel *s = arg;
    uint64_t one = 1;

    (void)c;
    pthread_mutex_lock(&s->lock);
    s->opened = *why;
    pthread_mutex_unlock(&s->lock);
    while (write(s->bell, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

static void on_opened(evutil_socket_t fd, short what, void *arg)
{
    const struct frame_stream_events events = {on_frame, on_end, NULL, arg};
    struct agent_channel *s = arg;
    struct fault why;
    int rc;

    (void)fd;
    (void)what;
    event_del(s->on_bell);
    pthread_mutex_lock(&s->lock);
    why = s->opened;
    pthread_mutex_unlock(&s->lock);
    if (s->ended)
        return;
    if (why.code) {
        channel_over(s, why.text);
        return;
    }
    s->heard_ms = clock_ms();
    /* The stream closes its descriptor, the channel its own. */
    s->fd = fcntl(channel_fd(s->channel), F_DUPFD_CLOEXEC, 3);
    rc = s->fd < 0 ? fault_os(&why, ML_ERR_SYSTEM, errno, "cannot use the channel")
                   : frame_stream_open(&s->stream, s->base, s->fd, s->fd, &events, &why);
    if (rc)
        channel_over(s, why.text);
}

int agent_channel_open(struct agent_channel **out, struct event_base *base, int host,
                       const struct host *to, const struct channel_config *config,
                       const struct agent_channel_events *events, struct fault *why)
{
    struct agent_channel *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->events = *events;
    s->base = base;
    s->host = host;
    s->fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->bell = eventfd(0, EFD_CLOEXEC);
    if (s->bell >= 0)
        s->on_bell = event_new(base, s->bell, EV_READ, on_opened, s);
    if (!s->on_bell || event_add(s->on_bell, NULL)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot open a channel");
        goto fail;
    }
    rc = channel_open(&s->channel, to, config, on_channel_ready, s, why);
    if (rc)
        goto fail;
    *out = s;
    return 0;
fail:
    agent_channel_close(s);
    return rc;
}

void agent_channel_close(struct agent_channel *s)
{
    if (!s)
        return;
    frame_stream_close(s->stream);
    if (!s->stream && s->fd >= 0)
        close(s->fd);
    channel_close(s->channel);
    if (s->on_bell)
        event_free(s->on_bell);
    if (s->bell >= 0)
        close(s->bell);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool is_open(const struct agent_channel *s)
{
    return s->stream && !s->ended;
}

void agent_channel_send(struct agent_channel *s, int type, const void *payload, size_t size)
{
    if (is_open(s))
        frame_stream_send(s->stream, type, payload, size);
}

void agent_channel_send_words(struct agent_channel *s, int type, const uint32_t *words, int count)
{
    uint32_t packed[4];

    for (int i = 0; i < count; i++)
        packed[i] = htonl(words[i]);
    agent_channel_send(s, type, packed, (size_t)count * sizeof(*packed));
}

void agent_channel_send_tagged(struct agent_channel *s, int type, uint32_t word, const void *bytes,
                               size_t size)
{
    word = htonl(word);
    if (is_open(s))
        frame_stream_send_parts(s->stream, type, &word, sizeof(word), bytes, size);
}

void agent_channel_send_json(struct agent_channel *s, int type, json_t *object)
{
    if (is_open(s))
        frame_stream_send_json(s->stream, type, object);
    else
        json_decref(object);
}

void agent_channel_shut(struct agent_channel *s)
{
    if (is_open(s))
        shutdown(s->fd, SHUT_WR);
    else
        channel_over(s, "closed before it was open");
}

bool agent_channel_has_ended(const struct agent_channel *s)
{
    return s->ended;
}

void agent_channel_check_silence(struct agent_channel *s)
{
    char text[64];

    if (!is_open(s) || clock_ms() - s->heard_ms < AGENT_SILENCE_MS)
        return;
    snprintf(text, sizeof(text), "nothing was heard from its agent for %d s",
             AGENT_SILENCE_MS / 1000);
    frame_stream_fail(s->stream, text);
}

void agent_channel_reset_silence(struct agent_channel *s)
{
    s->heard_ms = clock_ms();
}

void agent_channel_fail(struct agent_channel *s, const char *text)
{
    if (is_open(s))
        frame_stream_fail(s->stream, text);
}
