/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/stream/uplink_stream.h"

#include "common/failure_times.h"
#include "common/net/address.h"
#include "common/net/tcp_seal.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 << 10,
    READS_AT_ONCE = 32, /* in one turn of the loop */
    PARTS = 8,          /* pieces of what is kept that are sealed together */
    ROUTED_HEAD = 5,    /* bytes before what the frame is about */
};

struct uplink_stream {
    struct uplink_stream_events events;
    int fd;
    struct tcp_seal *seal;
    struct frame_reader *reader;
    struct evbuffer *kept;
    struct event *readable, *writable;
    bool ended, is_finishing, is_held;
    void (*first)(void *arg);
    void *first_arg;
};

void uplink_stream_fail(struct uplink_stream *s, const char *why)
{
    if (s->ended)
        return;
    s->ended = true;
    event_del(s->readable);
    event_del(s->writable);
    evbuffer_drain(s->kept, evbuffer_get_length(s->kept));
    s->events.on_end(why, s->events.arg);
}

static void frames_take(struct uplink_stream *s)
{
    struct fault why = {0};
    struct frame f;
    int rc = 0;

    while (!s->ended && (rc = frame_reader_next(s->reader, &f, &why)) > 0)
        s->events.on_frame(&f, s->events.arg);
    if (rc < 0)
        uplink_stream_fail(s, why.text);
}

static const char *end_words(ssize_t n)
{
    if (n == 0 || address_is_dropped(errno))
        return "the other side has closed the connection";
    if (errno == EBADMSG)
        return "what has come is not what the other side sent";
    return strerror(errno);
}

/* The seal reads ahead, so the socket may be empty while frames are left: all are taken. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_stream *s = arg;
    struct fault why;

    (void)what;
    for (int i = 0; i < READS_AT_ONCE && !s->ended && !s->is_held; i++) {
        struct iovec part = {NULL, READ_SIZE};
        uint8_t *room;
        ssize_t n;

        if (frame_reader_room(s->reader, READ_SIZE, &room, &why)) {
            uplink_stream_fail(s, why.text);
            return;
        }
        part.iov_base = room;
        n = tcp_seal_receive(s->seal, fd, &part, 1);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            uplink_stream_fail(s, end_words(n));
            return;
        }
        frame_reader_add(s->reader, (size_t)n);
        frames_take(s);
    }
    if (!s->ended && !s->is_held)
        event_active(s->readable, EV_READ, 0);
}

void uplink_stream_hold(struct uplink_stream *s, bool is_held)
{
    if (s->ended || s->is_held == is_held)
        return;
    s->is_held = is_held;
    if (is_held) {
        event_del(s->readable);
    } else {
        event_add(s->readable, NULL);
        event_active(s->readable, EV_READ, 0);
    }
}

bool uplink_stream_is_held(const struct uplink_stream *s)
{
    return s->is_held;
}

/* False: the socket takes no more now. A peer that is gone is noticed by reading, after what it has
 * said. */
static bool kept_write(struct uplink_stream *s)
{
    struct evbuffer_iovec pieces[PARTS];
    struct iovec parts[PARTS];
    int count = evbuffer_peek(s->kept, TCP_SEAL_RECORD, NULL, pieces, PARTS);
    ssize_t n;

    if (count > PARTS)
        count = PARTS;
    for (int i = 0; i < count; i++)
        parts[i] = (struct iovec){pieces[i].iov_base, pieces[i].iov_len};
    n = tcp_seal_send(s->seal, s->fd, parts, count);
    if (n > 0)
        evbuffer_drain(s->kept, (size_t)n);
    else if (errno != EAGAIN && errno != EINTR)
        evbuffer_drain(s->kept, evbuffer_get_length(s->kept));
    return n > 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_stream *s = arg;

    (void)what;
    while (evbuffer_get_length(s->kept) > 0 && kept_write(s))
        ;
    if (evbuffer_get_length(s->kept) == 0) {
        event_del(s->writable);
        if (s->is_finishing)
            shutdown(fd, SHUT_WR);
    }
    if (evbuffer_get_length(s->kept) < UPLINK_KEPT && s->events.on_room)
        s->events.on_room(s->events.arg);
}

/* A machine that has vanished, whether anything is sent or not. */
static void silence_limit(int fd)
{
    int on = 1, silence_ms = UPLINK_SILENCE_MS, after = UPLINK_ASK_AFTER_S,
        again = UPLINK_ASK_AGAIN_S, most = UPLINK_ASK_MOST;

    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after, sizeof(after));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again, sizeof(again));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof(most));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

int uplink_stream_open(struct uplink_stream **out, struct event_base *base, int fd,
                       const struct auth_keys *keys, const struct uplink_stream_events *events,
                       struct fault *why)
{
    struct uplink_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->events = *events;
    s->fd = -1;
    silence_limit(fd);
    rc = frame_reader_create(&s->reader, UPLINK_LIMIT, why);
    if (!rc)
        rc = tcp_seal_create(&s->seal, keys, why);
    if (!rc) {
        s->kept = evbuffer_new();
        s->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, s);
        s->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, s);
        if (!s->kept || !s->readable || !s->writable || event_add(s->readable, NULL))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (rc) {
        uplink_stream_close(s);
        return rc;
    }
    s->fd = fd;
    *out = s;
    return 0;
}

void uplink_stream_close(struct uplink_stream *s)
{
    if (!s)
        return;
    if (s->readable)
        event_free(s->readable);
    if (s->writable)
        event_free(s->writable);
    if (s->kept)
        evbuffer_free(s->kept);
    frame_reader_destroy(s->reader);
    tcp_seal_destroy(s->seal);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

static void frame_keep(struct uplink_stream *s, int type, const void *head, size_t head_size,
                       const void *body, size_t body_size)
{
    uint8_t header[FRAME_HEADER];

    if (s->first)
        s->first(s->first_arg);
    if (s->ended || s->is_finishing)
        return;
    frame_header(header, (uint8_t)type, (uint32_t)(head_size + body_size));
    if (evbuffer_add(s->kept, header, sizeof(header)) || evbuffer_add(s->kept, head, head_size) ||
        evbuffer_add(s->kept, body, body_size) || event_add(s->writable, NULL))
        uplink_stream_fail(s, "out of memory");
}

void uplink_stream_send(struct uplink_stream *s, int type, const void *payload, size_t size)
{
    frame_keep(s, type, NULL, 0, payload, size);
}

void uplink_stream_send_tagged(struct uplink_stream *s, int type, uint32_t word, const void *bytes,
                               size_t size)
{
    word = htonl(word);
    frame_keep(s, type, &word, sizeof(word), bytes, size);
}

void uplink_stream_send_parts(struct uplink_stream *s, int type, const void *head, size_t head_size,
                              const void *bytes, size_t size)
{
    frame_keep(s, type, head, head_size, bytes, size);
}

void uplink_stream_set_first(struct uplink_stream *s, void (*first)(void *arg), void *arg)
{
    s->first = first;
    s->first_arg = arg;
}

/* `type`, and then `head`, go into a frame of UPLINK_ROUTED if they are for a host below. */
static void route_keep(const struct uplink_route *to, int type, const void *head, size_t head_size,
                       const void *body, size_t body_size)
{
    uint32_t host = htonl((uint32_t)to->host);
    uint8_t start[ROUTED_HEAD + sizeof(uint32_t)];

    if (to->host < 0) {
        frame_keep(to->stream, type, head, head_size, body, body_size);
        return;
    }
    memcpy(start, &host, sizeof(host));
    start[sizeof(host)] = (uint8_t)type;
    if (head_size)
        memcpy(start + ROUTED_HEAD, head, head_size);
    frame_keep(to->stream, UPLINK_ROUTED, start, ROUTED_HEAD + head_size, body, body_size);
}

void uplink_route_send(const struct uplink_route *to, int type, const void *payload, size_t size)
{
    route_keep(to, type, NULL, 0, payload, size);
}

void uplink_route_send_tagged(const struct uplink_route *to, int type, uint32_t word,
                              const void *bytes, size_t size)
{
    word = htonl(word);
    route_keep(to, type, &word, sizeof(word), bytes, size);
}

bool uplink_route_take(const struct frame *f, uint32_t *host, struct frame *inner)
{
    const uint8_t *rest;
    size_t size;

    if (!uplink_stream_word(f, host, &rest, &size) || size < 1 || rest[0] == UPLINK_ROUTED)
        return false;
    *inner = *f;
    inner->type = rest[0];
    inner->payload = f->payload + ROUTED_HEAD;
    inner->size = (uint32_t)size - 1;
    return true;
}

void uplink_stream_finish(struct uplink_stream *s)
{
    if (s->first)
        s->first(s->first_arg);
    if (s->ended)
        return;
    s->is_finishing = true;
    event_add(s->writable, NULL);
}

size_t uplink_stream_kept(const struct uplink_stream *s)
{
    return evbuffer_get_length(s->kept);
}

bool uplink_stream_word(const struct frame *f, uint32_t *word, const uint8_t **rest, size_t *size)
{
    if (f->size < sizeof(*word))
        return false;
    memcpy(word, f->payload, sizeof(*word));
    *word = ntohl(*word);
    *rest = f->payload + sizeof(*word);
    *size = f->size - sizeof(*word);
    return true;
}
